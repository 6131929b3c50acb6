#include "cmd/film.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/nm.h"

struct nm_eye *picture_eye(struct nm_arena *arena, uint32_t width, uint32_t height, struct nm_err *err)
{
    struct nm_camera c = {
        .width = width, .height = height, .fx = width, .fy = width, .cx = (width - 1) / 2.0, .cy = (height - 1) / 2.0};
    nm_camera_ready(&c);
    const struct nm_lens_map *lens = nm_lens_map_new(arena, &c, err);
    return lens ? nm_eye_new(arena, lens) : NULL;
}

void picture_take(struct nm_eye *eye, struct nm_stage *stage, struct pose3 from, uint8_t *rgb)
{
    const struct nm_shutter shutter = NM_SHUTTER_PLAIN;
    nm_cast(eye, nm_stage_scene(stage), from);
    nm_develop(eye, &shutter, 1, NM_RGB8, rgb);
}

static bool in_path(const char *program, char *to, size_t size)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        if (n && snprintf(to, size, "%.*s/%s", (int)n, path, program) < (int)size && !access(to, X_OK)) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static void start(struct film *f, const char *program, const int ends[2])
{
    char rate[32], size[32];
    snprintf(rate, sizeof rate, "%g", 1 / FILM_FRAME);
    snprintf(size, sizeof size, "%dx%d", FILM_W, FILM_H);
    f->ffmpeg = fork();
    if (f->ffmpeg) return;
    int none = open("/dev/null", O_WRONLY);
    dup2(ends[0], STDIN_FILENO);
    dup2(none, STDOUT_FILENO);
    dup2(none, STDERR_FILENO);
    setpgid(0, 0); /* Ctrl-C must not cost the film's end */
    execl(program, "ffmpeg", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", rate, "-i", "-", "-pix_fmt",
          "yuv420p", f->path, (char *)NULL);
    _exit(127);
}

int film_open(struct film *f, struct nm_arena *arena, const char *folder, const char *name, struct nm_err *err)
{
    char program[512];
    int ends[2];
    *f = (struct film){.pipe = -1};
    snprintf(f->path, sizeof f->path, "%s/%s.mp4", folder, name);
    if (!in_path("ffmpeg", program, sizeof program) || nm_make_folders(f->path, NULL) || pipe2(ends, O_CLOEXEC))
        return 0;
    f->eye = picture_eye(arena, FILM_W, FILM_H, err);
    if (!f->eye) return -1;
    f->frame = nm_take(arena, 3 * FILM_W * FILM_H);
    start(f, program, ends);
    close(ends[0]);
    f->pipe = ends[1];
    if (f->ffmpeg > 0) return 0;
    close(f->pipe);
    f->pipe = -1;
    f->ffmpeg = 0;
    return 0;
}

/* One who does not take the frames any more gets none. */
void film_take(struct film *f, struct nm_stage *stage, struct pose3 (*from)(const struct nm_stage *stage))
{
    if (f->pipe < 0 || nm_seconds(nm_stage_now(stage)) < f->next) return;
    f->next += FILM_FRAME;
    picture_take(f->eye, stage, from(stage), f->frame);
    if (!nm_write_all(f->pipe, f->frame, 3 * FILM_W * FILM_H)) return;
    close(f->pipe);
    f->pipe = -1;
}

void film_close(struct film *f)
{
    int status = 0;
    if (f->pipe >= 0) close(f->pipe);
    f->pipe = -1;
    if (f->ffmpeg > 0) waitpid(f->ffmpeg, &status, 0);
    if (f->ffmpeg <= 0 || status) f->path[0] = '\0';
    f->ffmpeg = 0;
}
