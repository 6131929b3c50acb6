/* Labels of pictures as files for learning: labels.csv, and coco.json as COCO has it (one keypoint a label). */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* The classes of SweatyNet. */
enum nm_seen {
    NM_SEEN_BALL,
    NM_SEEN_POST, /* its foot           */
    NM_SEEN_X,    /* crossings of lines */
    NM_SEEN_MARK, /* penalty mark       */
    NM_SEEN_L,
    NM_SEEN_T,
    NM_SEEN_ROBOT,    /* of any team: the lowest point in the middle         */
    NM_SEEN_OBSTACLE, /* people and things on the carpet; the point as above */
    NM_SEEN_KINDS
};
extern const char *const nm_seen_name[NM_SEEN_KINDS];

struct nm_label {
    enum nm_seen kind;
    float x, y;                  /* the point, pixels                                    */
    float left, top, wide, high; /* box                                                  */
    float distance;              /* m, from the camera's foot                            */
    float shown;                 /* share of it that shows; small ones count neither way */
};

/* Either file may be NULL. First come the labels of all images, then the images. */
struct nm_labels {
    FILE *csv, *coco;
    uint64_t n, images; /* so far */
};
void nm_labels_begin(struct nm_labels *to);
void nm_labels_add(struct nm_labels *to, const char *image, uint64_t id, const struct nm_label *label);
void nm_labels_image(struct nm_labels *to, const char *path, uint64_t id, uint32_t width, uint32_t height);
void nm_labels_end(struct nm_labels *to);
