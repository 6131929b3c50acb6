/* nutmeg doctor: checks this machine and this installation; whatever is wrong comes with its remedy. */
#include <stdarg.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/machine.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "edge/control/place.h"

enum verdict { OK, WARN, FAIL };

struct patient {
    struct setup setup;
    int warnings, faults;
};

/* One line: what was looked at, what was found, and what to do about it. */
static void tell(struct patient *patient, enum verdict verdict, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void tell(struct patient *patient, enum verdict verdict, const char *what, const char *format, ...)
{
    static const char *const words[] = {"ok", "warn", "fail"};
    static const enum ink inks[] = {INK_GREEN, INK_YELLOW, INK_RED};
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("%s%-4s%s  %-14s  %s\n", ink(stdout, inks[verdict]), words[verdict], ink(stdout, INK_PLAIN), what, text);
    patient->warnings += verdict == WARN;
    patient->faults += verdict == FAIL;
}

static void check_folder(struct patient *patient)
{
    const char *root = patient->setup.root;
    if (strcmp(root, "."))
        tell(patient, OK, "folder", "%s", root);
    else
        tell(patient, FAIL, "folder",
             "there is no folder with robots/ and lineups/ here, above here, or above the program; change to it or set "
             "NUTMEG_ROOT");
}

/* A list of packages, one a line, with comments. */
static void check_packages(struct patient *patient, const char *list, enum verdict missing_is)
{
    const char *path = nm_path(&patient->setup.arena, patient->setup.root, list);
    FILE *file = fopen(path, "r");
    char line[256], missing[768] = "";
    size_t used = 0;
    int n = 0, lacking = 0, managed = 0;
    if (!file) {
        tell(patient, WARN, "packages", "%s does not exist, so packages cannot be checked", path);
        return;
    }
    while (managed >= 0 && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t")] = '\0';
        if (!*name) continue;
        n++;
        managed = machine_package(name);
        if (managed) continue;
        lacking++;
        if (used < sizeof missing) used += (size_t)snprintf(missing + used, sizeof missing - used, " %s", name);
    }
    fclose(file);
    if (managed < 0)
        tell(patient, WARN, "packages", "%s: this system has no dpkg; %d packages are not checked", list, n);
    else if (lacking)
        tell(patient, missing_is, "packages", "%s: missing:%s; apt-get install%s", list, missing, missing);
    else
        tell(patient, OK, "packages", "%s: all %d are installed", list, n);
}

static void check_to_play(struct patient *patient) { check_packages(patient, "packages.txt", FAIL); }
static void check_to_test(struct patient *patient) { check_packages(patient, "packages-test.txt", WARN); }

static void check_cpu(struct patient *patient)
{
    char name[128], governor[64];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    machine_cpu(name, sizeof name);
    tell(patient, cores >= 2 ? OK : WARN, "CPU", "%s, %ld core%s%s", name, cores, cores == 1 ? "" : "s",
         cores >= 2 ? "" : "; motion and vision share this core and will miss deadlines");
#if defined(__x86_64__)
    if (machine_cpu_has("avx2") && machine_cpu_has("fma"))
        tell(patient, OK, "CPU features", "avx2 and fma");
    else
        tell(patient, WARN, "CPU features", "no avx2 or no fma: networks and image code use their slow version");
#endif
    machine_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor);
    if (*governor && strcmp(governor, "performance"))
        tell(patient, WARN, "CPU clock",
             "governor '%s' lets cycles start slowly; echo performance | sudo tee "
             "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
             governor);
}

static void check_clock(struct patient *patient)
{
    char source[64], text[32];
    machine_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    static const char *const quick[] = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"};
    bool good = false;
    for (uint32_t i = 0; i < sizeof quick / sizeof *quick; i++) good |= !strcmp(source, quick[i]);
    if (!*source)
        tell(patient, WARN, "clock", "the clock source is unknown");
    else
        tell(patient, good ? OK : WARN, "clock", "%s%s", source,
             good ? "" : ": reading the time is a system call; a kernel that trusts the tsc is faster");
    int64_t late = machine_lateness();
    duration_text(text, (double)late);
    tell(patient, late < 300000 ? OK : WARN, "timer", "a sleep of 1 ms ends %s late%s", text,
         late < 300000 ? "" : "; other programs or power saving delay it");
}

static void check_priority(struct patient *patient)
{
    enum { USUAL = 50 };
    if (machine_fifo(USUAL))
        tell(patient, OK, "priority", "cycles may have real-time priority");
    else
        tell(
            patient, WARN, "priority",
            "cycles get no real-time priority; put '%s - rtprio 80' into /etc/security/limits.d/nutmeg.conf and log in "
            "again",
            getlogin() ? getlogin() : "USER");
}

static void check_disk(struct patient *patient)
{
    struct statvfs disk;
    if (statvfs(patient->setup.root, &disk)) return;
    double free_gb = (double)disk.f_bavail * (double)disk.f_frsize * 1e-9;
    enum verdict verdict = free_gb < 0.1 ? FAIL : free_gb < 2 ? WARN : OK;
    tell(patient, verdict, "disk", "%.1f GB are free%s", free_gb,
         verdict == OK ? "" : "; the logs of a match need 2 GB");
}

static void check_socket(struct patient *patient)
{
    char folder[256];
    struct nm_err err = {0};
    if (nm_control_folder(folder, sizeof folder, true, &err))
        tell(patient, FAIL, "control", "%.*s", (int)strcspn(err.text, "\n"), err.text);
    else
        tell(patient, OK, "control", "sockets of running line-ups are in %s", folder);
}

static void check_ports(struct patient *patient)
{
    static const struct {
        bool udp;
        uint16_t port;
        const char *what;
    } ports[] = {{false, 8765, "live view"}, {true, 3838, "GameController"}};
    for (uint32_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        bool ok = machine_port_free(ports[i].udp, ports[i].port);
        tell(patient, ok ? OK : WARN, "port", "%u (%s) is %s", ports[i].port, ports[i].what,
             ok ? "free" : "in use by another program; this is fine if it is your own nutmeg");
    }
}

static void check_tools(struct patient *patient)
{
    const char *commands = nm_path(&patient->setup.arena, patient->setup.program, "compile_commands.json");
    if (!machine_program("cc"))
        tell(patient, WARN, "compiler",
             "there is no C compiler (cc), which nutmeg dev and nutmeg new module need; apt-get install gcc");
    else if (!nm_file_exists(commands))
        tell(patient, WARN, "compiler", "%s does not exist, so nutmeg dev builds with plain flags", commands);
    else
        tell(patient, OK, "compiler", "cc and the flags of this build are available");
}

int cmd_doctor(int argc, char **argv)
{
    static void (*const checks[])(struct patient *) = {check_folder, check_to_play, check_to_test,  check_tools,
                                                       check_cpu,    check_clock,   check_priority, check_disk,
                                                       check_socket, check_ports};
    const struct usage usage =
        USAGE("nutmeg doctor", "", NULL,
              "Checks this machine and this installation, and prints a remedy for each fault. The exit code is\n"
              "1 if a fault keeps nutmeg from playing.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct patient patient = {0};
    setup_begin(&patient.setup);
    for (uint32_t i = 0; i < sizeof checks / sizeof *checks; i++) checks[i](&patient);
    setup_end(&patient.setup);
    printf("\n%s: %d warning%s, %d fault%s\n", patient.faults ? "not ready" : "ready", patient.warnings,
           patient.warnings == 1 ? "" : "s", patient.faults, patient.faults == 1 ? "" : "s");
    return patient.faults ? EXIT_FAILED : EXIT_OK;
}
