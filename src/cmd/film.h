/* Pictures of a stage for people: single ones, and a video if ffmpeg is installed. */
#pragma once

#include <sys/types.h>

#include "sim/stage.h"

/* A plain eye that is as wide as its focal length. NULL with a sentence. */
struct nm_eye *picture_eye(struct nm_arena *arena, uint32_t width, uint32_t height, struct nm_err *err);
void picture_take(struct nm_eye *eye, struct nm_stage *stage, struct pose3 from, uint8_t *rgb);

enum { FILM_W = 640, FILM_H = 360 };
static const double FILM_FRAME = 0.08; /* s between two frames */

struct film {
    int pipe; /* to ffmpeg, -1: none */
    pid_t ffmpeg;
    double next; /* s, of the next frame */
    struct nm_eye *eye;
    uint8_t *frame;
    char path[300]; /* FOLDER/NAME.mp4; "" if there is none */
};
/* Without ffmpeg there is no film. -1 with a sentence about the eye. */
int film_open(struct film *film, struct nm_arena *arena, const char *folder, const char *name, struct nm_err *err);
/* After every step; `from` is asked only when a frame is due. */
void film_take(struct film *film, struct nm_stage *stage, struct pose3 (*from)(const struct nm_stage *stage));
void film_close(struct film *film);
