/* The commands of strait calibrate; each takes its own argv and returns an exit status. */
#pragma once

int strait_calibrate_codecs(int argc, char **argv);
int strait_calibrate_host(int argc, char **argv);
int strait_calibrate_net(int argc, char **argv);
