/* nutmeg animate record: poses from a limp robot into a file. */
#ifndef NM_CMD_ANIMATE_RECORD_H
#define NM_CMD_ANIMATE_RECORD_H

struct setup;

int animate_record(int argc, char **argv);

/* cmd_animate.c: a robot's folder, by path or by its name in robots/ */
const char *animate_folder(struct setup *setup, const char *robot);

#endif
