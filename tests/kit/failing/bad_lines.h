/* Command lines that are wrong, and the one line that each gives: tests/bad/commands/NAME, where
 *     $ run wan-scalin
 *     2 strait: expected an experiment that ships ..., did you mean "wan-scaling"?
 * is what follows the program's name, its exit status and its standard error; "..." stands for any
 * text. Words are separated by blanks; 'quotes' hold one together, '' is the empty one. The folder
 * has an empty object, an empty file, a text, a folder, and "r", rows of a simulation; "old" has
 * the same without the run that they are of. */
#pragma once

/** All of a file, of at least so many lines. */
void bad_lines_of(const char *name, unsigned n_least);
