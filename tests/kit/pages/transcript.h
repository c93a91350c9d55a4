/* Pages of commands with what they say: their files are written, their commands run in their order
 * in a folder of their own, and their outputs are those of the page. */
#pragma once
#include <stdbool.h>

/** Blocks of the page are taken in their order. ```json save as NAME (or any word for json): the
 *  file NAME. ```console: of each line "$ COMMAND" (a line that ends with a backslash goes on)
 *  the standard output follows, numbers of more than nine digits rounded to seven and keys of rows
 *  as "(key)"; every command ends with status 0. All else is text. Commands have the tree as $TREE,
 *  and find first what they have put into "bin".
 *  columns: the terminal's width. write: put what the commands say into the page instead. */
void transcript_check(const char *path, const char *columns, bool write);
