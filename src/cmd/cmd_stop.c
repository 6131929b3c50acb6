/* nutmeg stop: ends a running line-up as Ctrl-C would. */
#include "cmd/asking.h"
#include "cmd/commands.h"

int cmd_stop(int argc, char **argv)
{
    const char *to = NULL;
    const struct flag flags[] = {TO_FLAG(&to), {0}};
    const struct usage usage = USAGE("nutmeg stop", "", flags, "Stops a running line-up.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    ask(&asking, &(struct nm_request){.op = NM_CONTROL_STOP});
    return asking_end(&asking);
}
