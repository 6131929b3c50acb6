/* Half of the check against other people's message libraries (rosmsg.mjs is the other half).
 *   random_messages write FILE SEED COUNT   COUNT random messages of every type, with their schema
 *   random_messages check FILE              decodes every message and encodes it again: the same bytes
 * A file is a list of records: type name, schema, CDR bytes; each a 32-bit length and the bytes. */
#include <stdio.h>

#include "codec/cdr.h"
#include "messages.h"

enum { ROOM = 16 << 20 };

/* The peer's writer counts UTF-16 units where CDR counts bytes, so it is right for ASCII only. */
static void make_ascii(const struct nm_type *type, uint8_t *message)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        uint32_t n;
        uint8_t *at = nm_elements(field, message + field->offset, &n);
        for (uint32_t k = 0; k < n; k++, at += field->elem) {
            if (field->kind == NM_STRUCT) make_ascii(field->type, at);
            for (uint8_t *c = at; field->kind == NM_STRING && *c; c++)
                if (*c >= 0x80) *c = 'u';
        }
    }
}

static void put_part(FILE *file, const void *bytes, size_t size)
{
    uint32_t length = (uint32_t)size;
    fwrite(&length, 4, 1, file);
    fwrite(bytes, 1, size, file);
}

/* NULL at the end of the file. */
static uint8_t *get_part(FILE *file, uint8_t *to, uint32_t *size)
{
    if (fread(size, 4, 1, file) != 1 || *size >= ROOM || fread(to, 1, *size, file) != *size) return NULL;
    to[*size] = '\0';
    return to;
}

static int write_messages(const char *path, uint64_t seed, int count)
{
    struct nm_arena arena = {0};
    struct nm_blob_pool *pool = nm_pool_new(&arena, 256, 8192);
    uint8_t *bytes = nm_take(&arena, ROOM);
    FILE *file = fopen(path, "wb");
    if (!file) return perror(path), 1;
    for (uint32_t t = 0; t < nm_all_types.n; t++) {
        const struct nm_type *type = nm_all_types.at[t];
        uint8_t *message = nm_take(&arena, type->size);
        for (int i = 0; i < count; i++) {
            nm_reset(type, message);
            random_message(&seed, type, message, pool);
            make_ascii(type, message);
            int64_t size = nm_cdr_encode(type, message, bytes, ROOM);
            if (size < 0) return fprintf(stderr, "%s: cannot be encoded\n", type->name), 1;
            put_part(file, type->name, strlen(type->name));
            put_part(file, type->schema, strlen(type->schema));
            put_part(file, bytes, (size_t)size);
        }
        nm_reset(type, message);
    }
    int rc = fclose(file) != 0;
    printf("%u types, %d messages each\n", nm_all_types.n, count);
    nm_arena_free(&arena);
    return rc;
}

static int check_messages(const char *path)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    uint8_t *name = nm_take(&arena, ROOM), *schema = nm_take(&arena, ROOM), *again = nm_take(&arena, ROOM);
    uint8_t *bytes = (uint8_t *)nm_take(&arena, ROOM + 8) + 4; /* so that wide elements of blobs can be borrowed */
    FILE *file = fopen(path, "rb");
    if (!file) return perror(path), 1;
    uint32_t size, n = 0;
    while (get_part(file, name, &size) && get_part(file, schema, &size) && get_part(file, bytes, &size)) {
        const struct nm_type *type = nm_type_find(&nm_all_types, (char *)name);
        if (!type) return fprintf(stderr, "%s: no such type\n", (char *)name), 1;
        void *message = calloc(1, type->size);
        if (nm_cdr_decode(type, message, bytes, size, NULL, &err)) return fputs(err.text, stderr), 1;
        if (nm_cdr_encode(type, message, again, ROOM) != size || memcmp(bytes, again, size))
            return fprintf(stderr, "%s: other bytes\n", type->name), 1;
        nm_reset(type, message);
        free(message);
        n++;
    }
    fclose(file);
    printf("%u messages decode and encode to the same bytes\n", n);
    nm_arena_free(&arena);
    return n ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "write"))
        return write_messages(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]));
    if (argc == 3 && !strcmp(argv[1], "check")) return check_messages(argv[2]);
    fprintf(stderr, "random_messages write FILE SEED COUNT | check FILE\n");
    return 2;
}
