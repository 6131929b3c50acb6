/* Any bytes as an animation of a small robot: either sentences, or a motion that can be mirrored, checked, played and
 * written as text that is read back. */
#include <stdint.h>
#include <string.h>

#include "body/animation.h"

static const char urdf_text[] =
    "<robot name='twig'><link name='base_link'/><link name='a'/><link name='b'/><link name='c'/>"
    "<joint name='left_knee' type='revolute'><parent link='base_link'/><child link='a'/><origin xyz='0 0.1 0'/>"
    "<axis xyz='0 1 0'/><limit lower='-1' upper='2' velocity='5' effort='2'/></joint>"
    "<joint name='right_knee' type='revolute'><parent link='base_link'/><child link='b'/><origin xyz='0 -0.1 0'/>"
    "<axis xyz='0 1 0'/><limit lower='-1' upper='2' velocity='5' effort='2'/></joint>"
    "<joint name='head_yaw' type='revolute'><parent link='base_link'/><child link='c'/>"
    "<axis xyz='0 0 1'/><limit lower='-2' upper='2' velocity='5' effort='2'/></joint></robot>";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_urdf *urdf = nm_urdf_parse(&arena, "twig.urdf", urdf_text, sizeof urdf_text - 1, &err);
    const struct nm_body *body = urdf ? nm_body_from_urdf(&arena, urdf, &err) : NULL;
    if (!body) __builtin_trap();
    struct nm_animation *a = nm_animation_parse(&arena, body, "fuzz.yaml", (const char *)data, size, &err);
    if (!a && !err.n) __builtin_trap(); /* refused without a sentence */
    if (a && a->n_frames && a->duration < 100) {
        struct nm_animation image = {.name = "image", .about = ""};
        struct nm_animation_pose pose;
        const double from[NM_JOINTS] = {0};
        nm_animation_mirror(&arena, body, a, &image);
        nm_animation_check(body, &image, &err);
        for (double t = -1; t < a->duration + 1; t += a->duration / 16) nm_animation_sample(a, from, t, &pose);
        const char *text = nm_animation_text(&arena, body, a);
        struct nm_err again = {0};
        /* moves below a millisecond and texts of control characters cannot be written */
        nm_animation_parse(&arena, body, "again.yaml", text, strlen(text), &again);
    }
    nm_arena_free(&arena);
    return 0;
}
