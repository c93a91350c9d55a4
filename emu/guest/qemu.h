/* A program run in QEMU that counts instructions (TCG with -icount): one processor, on which every
 * instruction takes a nanosecond, and whose time jumps over idleness. Nothing of the host gets in,
 * so the same files and arguments give the same run, to the last digit. It has no file system of
 * the host's: what it needs is packed for it, and what it wrote comes back at its end. */
#pragma once
#include "core/error.h"
#include "uml.h"

/* On the command line of its kernel, by which a program finds out where it is. */
#define STRAIT_EMU_QEMU_MARK "STRAIT_GUEST=qemu"

/** Is QEMU there, and the guest's kernel?
 *  Returns: 0, or -1 with *err HOST, which names the target of make that brings what is missing */
int strait_emu_qemu_check(struct strait_error *err);

/** Boot, run, halt. The guest ends with the calling thread, by any signal.
 *  In:      plan  as for User-Mode Linux, but: read are all files and folders (with the files
 *                 directly in them) that it needs beside argv[0], its libraries and the data that
 *                 ship; of the write folders it sees the files directly in them; memory_bytes
 *                 without what the files take; virtual_time has no meaning
 *  Returns: the program's exit status, its output in files of job and what it wrote in the write
 *           folders; or -1 with *err: HOST as above or where memory does not suffice, INPUT for
 *           names with blanks or commas, BACKEND where the guest ended without a status, SYSTEM at
 *           the limit or where a file cannot be read or the packed files not be written
 *  Cost:    a few seconds more than the program, which is 5 to 20 times slower than outside */
int strait_emu_qemu_run(const struct strait_emu_uml_plan *plan, struct strait_error *err);
