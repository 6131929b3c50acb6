#include "codec/labels.h"

#include <inttypes.h>

const char *const nm_seen_name[NM_SEEN_KINDS] = {"ball",       "post",       "x_crossing", "penalty_mark",
                                                 "l_crossing", "t_crossing", "robot",      "obstacle"};

void nm_labels_begin(struct nm_labels *to)
{
    if (to->csv) fprintf(to->csv, "image,class,x,y,w,h,point_x,point_y,distance,shown\n");
    if (!to->coco) return;
    for (int k = 0; k < NM_SEEN_KINDS; k++)
        fprintf(to->coco, "%s{\"id\": %d, \"name\": \"%s\"}", k ? ", " : "{\"categories\": [", k + 1, nm_seen_name[k]);
    fprintf(to->coco, "],\n\"annotations\": [");
}

void nm_labels_add(struct nm_labels *to, const char *image, uint64_t id, const struct nm_label *label)
{
    double left = (double)label->left, top = (double)label->top, wide = (double)label->wide, high = (double)label->high;
    double x = (double)label->x, y = (double)label->y;
    if (to->csv)
        fprintf(to->csv, "%s,%s,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.2f,%.2f\n", image, nm_seen_name[label->kind], left, top,
                wide, high, x, y, (double)label->distance, (double)label->shown);
    if (to->coco)
        fprintf(to->coco,
                "%s\n{\"id\": %" PRIu64 ", \"image_id\": %" PRIu64 ", \"category_id\": %d, \"iscrowd\": %d, "
                "\"area\": %.1f, \"bbox\": [%.1f, %.1f, %.1f, %.1f], \"num_keypoints\": 1, "
                "\"keypoints\": [%.1f, %.1f, 2]}",
                to->n ? "," : "", to->n + 1, id, label->kind + 1, label->shown < 0.35f, wide * high, left, top, wide,
                high, x, y);
    to->n++;
}

void nm_labels_image(struct nm_labels *to, const char *path, uint64_t id, uint32_t width, uint32_t height)
{
    if (to->coco)
        fprintf(to->coco, "%s\n{\"id\": %" PRIu64 ", \"file_name\": \"%s\", \"width\": %u, \"height\": %u}",
                to->images ? "," : "],\n\"images\": [", id, path, width, height);
    to->images++;
}

void nm_labels_end(struct nm_labels *to)
{
    if (to->coco) fprintf(to->coco, "%s]}\n", to->images ? "" : "],\n\"images\": [");
}
