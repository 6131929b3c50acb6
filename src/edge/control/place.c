#include "edge/control/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int nm_control_folder(char *to, size_t size, bool make, struct nm_err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = runtime && *runtime == '/' ? snprintf(to, size, "%s/nutmeg", runtime)
                                       : snprintf(to, size, "/tmp/nutmeg-%u", (unsigned)getuid());
    if (n < 0 || (size_t)n >= size) return nm_fail(err, "the path in XDG_RUNTIME_DIR is too long");
    if (make && mkdir(to, 0700) && errno != EEXIST)
        return nm_fail(err, "%s: the folder cannot be created: %s; XDG_RUNTIME_DIR can name another place", to,
                       strerror(errno));
    struct stat status;
    if (lstat(to, &status)) return nm_fail(err, "%s: %s", to, strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 077))
        return nm_fail(err,
                       "%s: must be your own folder that nobody else can enter (mode 0700); XDG_RUNTIME_DIR can name "
                       "another place",
                       to);
    return 0;
}

int nm_control_address(const char *folder, const char *name, struct sockaddr_un *address, struct nm_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (!*name || *name == '.' || name[strspn(name, letters)])
        return nm_fail(err, "'%.64s' cannot be the name of a player: use letters, digits, '_', '-' and '.'", name);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int n = snprintf(address->sun_path, sizeof address->sun_path, "%s/%s.sock", folder, name);
    if (n < 0 || (size_t)n >= sizeof address->sun_path)
        return nm_fail(err, "%s/%.64s.sock: the path of a socket may have at most %zu bytes", folder, name,
                       sizeof address->sun_path - 1);
    return 0;
}

int nm_control_dial(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (!connect(fd, (const struct sockaddr *)address, sizeof *address)) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}
