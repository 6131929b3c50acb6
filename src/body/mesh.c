#include "body/mesh.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/whole.h"

struct corners {
    struct nm_arena *arena;
    struct nm_mesh *mesh;
    uint32_t room;
    const char *file;
    struct nm_err *err;
};

static int add(struct corners *c, struct vec3 p)
{
    struct nm_mesh *m = c->mesh;
    if (!isfinite(p.x + p.y + p.z) || fabs(p.x) + fabs(p.y) + fabs(p.z) > 1e6)
        return nm_fail(c->err, "%s: a corner of the mesh is not a number, or lies a million metres away", c->file);
    if (m->n == NM_MESH_POINTS) return nm_fail(c->err, "%s: more than %d corners", c->file, NM_MESH_POINTS);
    m->points = nm_take_more(c->arena, m->points, m->n, &c->room, sizeof *m->points);
    m->points[m->n++] = p;
    return 0;
}

/* ---- STL and OBJ ---- */

static uint32_t whole_number(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

enum { STL_HEAD = 84, STL_FACE = 50 };

static bool binary_stl(const char *bytes, size_t size)
{
    return size >= STL_HEAD &&
           size == STL_HEAD + (uint64_t)STL_FACE * whole_number((const unsigned char *)bytes + STL_HEAD - 4);
}

static int read_binary_stl(struct corners *c, const char *bytes, size_t size)
{
    for (const char *face = bytes + STL_HEAD; face < bytes + size; face += STL_FACE)
        for (int i = 0; i < 3; i++) {
            float v[3];
            memcpy(v, face + 12 * (i + 1), sizeof v);
            if (add(c, (struct vec3){(double)v[0], (double)v[1], (double)v[2]})) return -1;
        }
    return 0;
}

/* Lines that begin with a word and three numbers: `vertex` in STL, `v` in OBJ. */
static int read_lines(struct corners *c, const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    char line[256];
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        while (at < stop && (*at == ' ' || *at == '\t')) at++;
        if ((size_t)(stop - at) > length && !strncmp(at, word, length) && (at[length] == ' ' || at[length] == '\t')) {
            struct vec3 p;
            snprintf(line, sizeof line, "%.*s", (int)(stop - at < 255 ? stop - at : 255), at);
            if (sscanf(line + length, "%lf %lf %lf", &p.x, &p.y, &p.z) != 3)
                return nm_fail(c->err, "%s: a line that begins with %s has no three numbers", c->file, word);
            if (add(c, p)) return -1;
        }
        at = stop + 1;
    }
    return 0;
}

/* ---- COLLADA ---- */

enum { DEPTH = 64, SOURCES = 256, ID = 100 };

struct dae {
    struct corners raw; /* all positions, before they are placed */
    struct nm_mesh read;
    struct corners *to;
    XML_Parser xml;
    bool failed, in_array, in_matrix, in_up;
    double unit;
    char up[8];
    char number[64]; /* a number that may be cut by the parser */
    uint32_t cut;
    double v[16]; /* a point or a matrix as it comes */
    uint32_t n_v;
    struct source {
        char id[ID], geometry[ID];
        uint32_t first, n;
        bool positions;
    } sources[SOURCES];
    uint32_t n_sources;
    char geometry[ID];
    uint32_t depth;
    struct pose {
        double m[12]; /* three rows */
    } node[DEPTH];
    bool placed;
};

static const struct pose unmoved = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

static void dae_fail(struct dae *d, const char *what)
{
    if (!d->failed)
        nm_fail(d->to->err, "%s:%lu: %s", d->to->file, (unsigned long)XML_GetCurrentLineNumber(d->xml), what);
    d->failed = true;
    XML_StopParser(d->xml, XML_FALSE);
}

static const char *attribute(const char **pairs, const char *name)
{
    for (; *pairs; pairs += 2)
        if (!strcmp(pairs[0], name)) return pairs[1];
    return "";
}

static struct pose pose_product(const struct pose *a, const struct pose *b)
{
    struct pose c;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 4; k++) {
            c.m[4 * r + k] = k == 3 ? a->m[4 * r + 3] : 0;
            for (int i = 0; i < 3; i++) c.m[4 * r + k] += a->m[4 * r + i] * b->m[4 * i + k];
        }
    return c;
}

/* The points of a geometry where its node puts them. Exporters mean y by up unless they say z. */
static void place(struct dae *d, const char *geometry, const struct pose *p)
{
    for (uint32_t i = 0; i < d->n_sources && !d->failed; i++) {
        const struct source *s = &d->sources[i];
        if (!s->positions || (geometry && strcmp(s->geometry, geometry))) continue;
        d->placed = true;
        for (uint32_t k = s->first; k < s->first + s->n && !d->failed; k++) {
            struct vec3 q = d->read.points[k];
            const double *m = p->m;
            q = (struct vec3){m[0] * q.x + m[1] * q.y + m[2] * q.z + m[3], m[4] * q.x + m[5] * q.y + m[6] * q.z + m[7],
                              m[8] * q.x + m[9] * q.y + m[10] * q.z + m[11]};
            if (!strcmp(d->up, "Y_UP")) q = (struct vec3){q.x, -q.z, q.y};
            if (add(d->to, vec3_scale(q, d->unit))) dae_fail(d, "the mesh cannot be used");
        }
    }
}

static void XMLCALL dae_start(void *user, const char *name, const char **a)
{
    struct dae *d = user;
    if (d->failed) return;
    d->n_v = d->cut = 0;
    if (!strcmp(name, "unit")) {
        d->unit = strtod(attribute(a, "meter"), NULL);
        if (!(d->unit > 1e-6 && d->unit < 1e3)) dae_fail(d, "the unit has no usable length in metres");
    }
    d->in_up = !strcmp(name, "up_axis");
    if (!strcmp(name, "geometry")) snprintf(d->geometry, ID, "%s", attribute(a, "id"));
    if (!strcmp(name, "source")) {
        if (d->n_sources == SOURCES) return dae_fail(d, "more than 256 sources");
        struct source *s = &d->sources[d->n_sources++];
        *s = (struct source){.first = d->read.n};
        snprintf(s->id, ID, "%s", attribute(a, "id"));
        memcpy(s->geometry, d->geometry, ID);
    }
    d->in_array = !strcmp(name, "float_array") && d->n_sources > 0;
    if (!strcmp(name, "input") && !strcmp(attribute(a, "semantic"), "POSITION"))
        for (uint32_t i = 0; i < d->n_sources; i++)
            if (!strcmp(d->sources[i].geometry, d->geometry) &&
                !strcmp(d->sources[i].id, attribute(a, "source") + (*attribute(a, "source") == '#')))
                d->sources[i].positions = true;
    if (!strcmp(name, "node")) {
        if (d->depth + 1 >= DEPTH) return dae_fail(d, "nodes nested deeper than 64");
        d->node[d->depth + 1] = d->node[d->depth];
        d->depth++;
    }
    d->in_matrix = d->depth > 0 && (!strcmp(name, "matrix") || !strcmp(name, "translate") || !strcmp(name, "scale") ||
                                    !strcmp(name, "rotate"));
    if (!strcmp(name, "instance_geometry") && d->depth > 0)
        place(d, attribute(a, "url") + (*attribute(a, "url") == '#'), &d->node[d->depth]);
}

static void take_number(struct dae *d)
{
    if (!d->cut) return;
    d->number[d->cut] = '\0';
    d->cut = 0;
    if (d->n_v < 16) d->v[d->n_v++] = strtod(d->number, NULL);
    if (!d->in_array || d->n_v < 3) return;
    d->n_v = 0;
    if (add(&d->raw, (struct vec3){d->v[0], d->v[1], d->v[2]})) return dae_fail(d, "the mesh cannot be used");
    d->sources[d->n_sources - 1].n = d->read.n - d->sources[d->n_sources - 1].first;
}

static void XMLCALL dae_text(void *user, const char *text, int n)
{
    struct dae *d = user;
    if (d->in_up) snprintf(d->up, sizeof d->up, "%.*s", n < 7 ? n : 7, text), d->in_up = false;
    if (d->failed || !(d->in_array || d->in_matrix)) return;
    for (int i = 0; i < n && !d->failed; i++) {
        bool space = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
        if (space)
            take_number(d);
        else if (d->cut < sizeof d->number - 1)
            d->number[d->cut++] = text[i];
    }
}

static void XMLCALL dae_end(void *user, const char *name)
{
    struct dae *d = user;
    if (d->failed) return;
    if (d->in_array || d->in_matrix) take_number(d);
    if (d->in_matrix) {
        struct pose p = unmoved, *at = &d->node[d->depth];
        const double *v = d->v;
        if (!strcmp(name, "matrix") && d->n_v == 16) memcpy(p.m, v, sizeof p.m);
        for (int i = 0; i < 3 && d->n_v == 3; i++)
            if (!strcmp(name, "translate"))
                p.m[4 * i + 3] = v[i];
            else
                p.m[5 * i] = v[i];
        if (!strcmp(name, "rotate") && d->n_v == 4 && v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > 1e-12) {
            struct vec3 axis = {v[0], v[1], v[2]};
            struct mat3 m = quat_to_mat3(quat_axis(vec3_scale(axis, 1 / vec3_norm(axis)), v[3] * M_PI / 180));
            for (int r = 0; r < 3; r++) memcpy(p.m + 4 * r, m.m[r], sizeof m.m[r]);
        }
        *at = pose_product(at, &p);
    }
    d->in_array = d->in_matrix = false;
    if (!strcmp(name, "node") && d->depth) d->depth--;
}

static void XMLCALL dae_doctype(void *user, const char *name, const char *system, const char *public, int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    dae_fail(user, "a document type is not allowed here");
}

static int read_dae(struct corners *c, const char *text, size_t size)
{
    struct dae *d = nm_take_n(c->arena, struct dae, 1);
    *d = (struct dae){.to = c, .unit = 1};
    d->raw = (struct corners){c->arena, &d->read, 0, c->file, c->err};
    d->node[0] = unmoved;
    d->xml = XML_ParserCreate(NULL);
    if (!d->xml) return nm_fail(c->err, "%s: no memory for the XML reader", c->file);
    XML_SetUserData(d->xml, d);
    XML_SetElementHandler(d->xml, dae_start, dae_end);
    XML_SetCharacterDataHandler(d->xml, dae_text);
    XML_SetStartDoctypeDeclHandler(d->xml, dae_doctype);
    if (XML_Parse(d->xml, text, (int)size, 1) != XML_STATUS_OK && !d->failed)
        dae_fail(d, XML_ErrorString(XML_GetErrorCode(d->xml)));
    if (!d->failed && !d->placed) place(d, NULL, &unmoved);
    XML_ParserFree(d->xml);
    return d->failed ? -1 : 0;
}

/* ---- all of them ---- */

static bool begins(const char *bytes, size_t size, const char *word)
{
    size_t at = 0, n = strlen(word);
    while (at < size && strchr(" \t\r\n\xef\xbb\xbf", bytes[at]) && bytes[at]) at++;
    return size - at >= n && !strncmp(bytes + at, word, n);
}

int nm_mesh_parse(struct nm_arena *arena, const char *file, const char *bytes, size_t size, struct nm_mesh *mesh,
                  struct nm_err *err)
{
    struct corners c = {arena, mesh, 0, file, err};
    *mesh = (struct nm_mesh){0};
    if (size > NM_MESH_SIZE) return nm_fail(err, "%s: a mesh larger than %d MiB", file, NM_MESH_SIZE >> 20);
    int fault = binary_stl(bytes, size)         ? read_binary_stl(&c, bytes, size)
                : begins(bytes, size, "solid")  ? read_lines(&c, bytes, size, "vertex")
                : begins(bytes, size, "<")      ? read_dae(&c, bytes, size)
                : begins(bytes, size, "PK\3\4") ? nm_fail(err, "%s: a packed mesh is not read", file)
                                                : read_lines(&c, bytes, size, "v");
    if (!fault && mesh->n < 3) return nm_fail(err, "%s: no mesh in STL, OBJ or COLLADA", file);
    return fault;
}

static bool is_file(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISREG(info.st_mode);
}

static const char *find_mesh(struct nm_arena *arena, const char *beside, const char *name)
{
    enum { HIGHEST = 6 };
    const char *scheme = strstr(name, "://"), *path = scheme ? scheme + 3 : name, *inside = strchr(path, '/');
    bool package = scheme && strncmp(name, "file", 4) != 0;
    if (*path == '/') return is_file(path) ? path : NULL;
    for (int up = 0; up < HIGHEST; up++) {
        const char *here = nm_take_format(arena, "%s/%s", beside, path);
        if (is_file(here)) return here;
        here = package && inside ? nm_take_format(arena, "%s%s", beside, inside) : here;
        if (is_file(here)) return here;
        beside = nm_take_format(arena, "%s/..", beside);
    }
    return NULL;
}

int nm_mesh_read(struct nm_arena *arena, const char *beside, const char *name, struct nm_mesh *mesh, struct nm_err *err)
{
    const char *path = find_mesh(arena, beside, name);
    size_t size;
    if (!path) return nm_fail(err, "%s: the file was not found", name);
    char *bytes = nm_read_whole(path, NM_MESH_SIZE, &size, err);
    int fault = bytes ? nm_mesh_parse(arena, path, bytes, size, mesh, err) : -1;
    free(bytes);
    return fault;
}
