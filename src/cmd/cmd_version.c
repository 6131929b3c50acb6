/* nutmeg version: what this program was made from, for reports and logs. */
#include <stdio.h>
#include <sys/utsname.h>

#include "cmd/commands.h"
#include "cmd/logging.h"
#include "cmd/machine.h"
#include "cmd/options.h"
#include "core/nm.h"

const char *program_revision(void) { return *NM_REVISION ? NM_REVISION : "unknown"; }

int cmd_version(int argc, char **argv)
{
    bool brief = false;
    const struct flag flags[] = {SWITCH("short", &brief, "prints only the number"), {0}};
    const struct usage usage =
        USAGE("nutmeg version", "", flags, "Shows what this program was built from and where it runs.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (brief) {
        puts(NM_VERSION);
        return EXIT_OK;
    }
    struct utsname system;
    char cpu[128];
    printf("nutmeg %s\n", NM_VERSION);
    printf("  revision  %s\n", *NM_REVISION ? NM_REVISION : "unknown");
    printf("  ABI       %d\n", NM_ABI);
#ifdef __clang__
    printf("  compiler  %s\n", __VERSION__);
#else
    printf("  compiler  gcc %s\n", __VERSION__);
#endif
    printf("  CPU       %s\n", machine_cpu(cpu, sizeof cpu));
    if (!uname(&system)) printf("  system    %s %s %s\n", system.sysname, system.release, system.machine);
    return EXIT_OK;
}
