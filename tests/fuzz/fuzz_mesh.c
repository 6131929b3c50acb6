/* Corners of meshes in STL, OBJ and COLLADA. */
#include "body/mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_mesh mesh;
    if (!nm_mesh_parse(&arena, "fuzz.stl", (const char *)data, size, &mesh, &err)) {
        for (uint32_t i = 0; i < mesh.n; i++)
            if (!isfinite(mesh.points[i].x + mesh.points[i].y + mesh.points[i].z)) __builtin_trap();
    } else if (!err.n) {
        __builtin_trap(); /* refused without a sentence */
    }
    nm_arena_free(&arena);
    return 0;
}
