/* Markers of the family tag36h11 in pictures, found by libapriltag (Wang, Olson: AprilTag 2, 2016). */
#include <apriltag/apriltag.h>
#include <apriltag/tag36h11.h>

#include "cmd/calibrate_camera.h"

void look_tags(struct look *l, uint32_t view)
{
    const struct grey *g = &l->pictures[view];
    if (!g->bytes) return;
    apriltag_family_t *family = tag36h11_create();
    apriltag_detector_t *detector = apriltag_detector_create();
    apriltag_detector_add_family_bits(detector, family, 1);
    detector->quad_decimate = 1;
    image_u8_t image = {(int32_t)g->width, (int32_t)g->height, (int32_t)g->width, g->bytes};
    zarray_t *found = apriltag_detector_detect(detector, &image);
    for (int i = 0; i < zarray_size(found); i++) {
        static const double right[4] = {-1, 1, 1, -1}, up[4] = {-1, -1, 1, 1};
        apriltag_detection_t *tag;
        zarray_get(found, i, &tag);
        for (uint32_t k = 0; k < l->board->n; k++) {
            const struct tag_place *t = &l->board->tags[k];
            if ((int)t->id != tag->id || tag->decision_margin < 20) continue;
            for (int c = 0; c < 4 && l->fit.n_sights < NM_FIT_SIGHTS; c++) {
                struct vec3 corner = {0, right[c] * l->board->size / 2, up[c] * l->board->size / 2};
                l->fit.sights[l->fit.n_sights++] = (struct nm_camera_sight){
                    view, {tag->p[c][0] - 0.5, tag->p[c][1] - 0.5}, NM_SIGHT_PLACE, pose_apply(t->to_field, corner)};
            }
        }
    }
    apriltag_detections_destroy(found);
    apriltag_detector_destroy(detector);
    tag36h11_destroy(family);
}

uint64_t tag_cells(uint32_t id)
{
    uint64_t cells = 0;
    apriltag_family_t *family = tag36h11_create();
    for (uint32_t i = 0; i < family->nbits; i++)
        if (family->codes[id] >> (family->nbits - 1 - i) & 1)
            cells |= 1ull << (8 * family->bit_y[i] + family->bit_x[i]);
    tag36h11_destroy(family);
    return cells;
}
