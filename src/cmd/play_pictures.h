/* Pictures of a session: a contact sheet, and a video where ffmpeg is there. The sheet begins with the field from above
 * and the ways that robots and ball went; below it a row for each of some moments, the whole scene on the left and each
 * robot beside it. */
#ifndef NM_CMD_PLAY_PICTURES_H
#define NM_CMD_PLAY_PICTURES_H

#include "sim/stage.h"

struct play_pictures;

/* `seconds`: how long it is going to last. NULL with a sentence. */
struct play_pictures *play_pictures_new(double seconds, struct nm_err *err);
/* After every step. */
void play_pictures_take(struct play_pictures *pictures, struct nm_stage *stage);
/* Writes FOLDER/NAME.png and ends FOLDER/NAME.mp4, whose path (or "") stays valid. */
int play_pictures_write(struct play_pictures *pictures, const char *folder, const char *name, struct nm_err *err);
/* Before the first picture: also makes a video, if there is somebody who can. */
void play_pictures_film(struct play_pictures *pictures, const char *folder, const char *name);
const char *play_pictures_video(const struct play_pictures *pictures);
void play_pictures_free(struct play_pictures *pictures);

#endif
