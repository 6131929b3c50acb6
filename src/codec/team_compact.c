#include "codec/team_compact.h"

#include <math.h>
#include <string.h>

#include "base/crc32.h"

enum { MAGIC = 'N', OLDEST = 1, VERSION = 2, CHECK = 2 /* bytes */ };

/* ---- bits, the most significant first ---- */

struct bits {
    uint8_t *bytes;
    uint32_t at, end; /* in bits */
    bool bad;         /* read behind the end, or something impossible */
};

static void put_bits(struct bits *b, uint32_t value, uint8_t n)
{
    for (uint8_t i = n; i-- > 0; b->at++)
        if (value >> i & 1) b->bytes[b->at / 8] |= (uint8_t)(0x80 >> b->at % 8);
}

static uint32_t get_bits(struct bits *b, uint8_t n)
{
    uint32_t value = 0;
    if (b->end - b->at < n) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    for (uint8_t i = 0; i < n; i++, b->at++) value = value << 1 | (b->bytes[b->at / 8] >> (7 - b->at % 8) & 1);
    return value;
}

/* ---- numbers ---- */

enum how {
    WHOLE, /* uint8_t or bool; `low`: the largest that exists                */
    EVEN,  /* float: low + step * code                                       */
    OPEN,  /* the same, and the largest code is infinite                     */
    GAPS,  /* the same, and the largest code is not a number                 */
    RATIO, /* float: low * step^code, for deviations                         */
};

struct row {
    uint16_t member;
    uint8_t bits, how;
    float low, step;
};
#define AT(member) offsetof(struct nm_team_news, member)
#define OF(member) offsetof(struct nm_news_obstacle, member)

static uint32_t code_of(const struct row *r, const void *base)
{
    const uint32_t most = (1u << r->bits) - 1;
    const uint8_t *member = (const uint8_t *)base + r->member;
    float x;
    if (r->how == WHOLE) return *member < r->low ? *member : (uint32_t)r->low;
    memcpy(&x, member, sizeof x);
    double code = r->how == RATIO ? log((double)x / (double)r->low) / log((double)r->step)
                                  : ((double)x - (double)r->low) / (double)r->step;
    double end = (r->how == OPEN && isfinite(x)) || r->how == GAPS ? most - 1 : most;
    if (r->how == GAPS && isnan(x)) return most;
    return !(code > 0) ? 0 : code > end ? (uint32_t)end : (uint32_t)(code + 0.5);
}

static void take_code(const struct row *r, void *base, uint32_t code, struct bits *b)
{
    uint8_t *member = (uint8_t *)base + r->member;
    if (r->how == WHOLE) {
        if ((float)code > r->low) b->bad = true;
        *member = (uint8_t)code;
        return;
    }
    double x = r->how == RATIO ? (double)r->low * pow((double)r->step, code) : (double)r->low + (double)r->step * code;
    bool last = code == (1u << r->bits) - 1;
    float value = r->how == OPEN && last ? INFINITY : r->how == GAPS && last ? NAN : (float)x;
    memcpy(member, &value, sizeof value);
}

/* ---- what is in a message ---- */

#define PLACE(member)                                                                                                  \
    {                                                                                                                  \
        member, 12, EVEN, -20.48f, 0.01f                                                                               \
    } /* m, the largest field and its border */
#define SIGMA(member)                                                                                                  \
    {                                                                                                                  \
        member, 6, RATIO, 0.01f, 1.125f                                                                                \
    } /* m or rad, 0.01 to 17                 */
#define SHARE(member)                                                                                                  \
    {                                                                                                                  \
        member, 5, EVEN, 0, 1 / 31.f                                                                                   \
    }
#define RHO(member)                                                                                                    \
    {                                                                                                                  \
        member, 4, EVEN, -1, 0.125f                                                                                    \
    }
#define TURN 0.00614f /* rad, a thousandth of a turn */

static const struct row head[] = {
    {AT(team), 8, WHOLE, 255, 0},
    {AT(player), 5, WHOLE, NM_NEWS_PLAYERS, 0},
    {AT(state), 2, WHOLE, NM_NEWS_STATES - 1, 0},
    {AT(role), 3, WHOLE, NM_NEWS_ROLES - 1, 0},
    {AT(action), 4, WHOLE, NM_NEWS_ACTIONS - 1, 0},
    {AT(side), 2, WHOLE, NM_NEWS_SIDES - 1, 0},
    {AT(whistle), 1, WHOLE, 1, 0},
    {AT(claims_ball), 1, WHOLE, 1, 0},
    {AT(time_to_ball), 10, OPEN, 0, 0.1f},
};
static const struct row pose[] = {
    PLACE(AT(x)),           PLACE(AT(y)),       {AT(theta), 10, EVEN, -512 * TURN, TURN},
    SIGMA(AT(sigma_x)),     SIGMA(AT(sigma_y)), RHO(AT(rho)),
    SIGMA(AT(sigma_theta)), SHARE(AT(belief)),
};
static const struct row ball[] = {
    PLACE(AT(ball_x)),
    PLACE(AT(ball_y)),
    {AT(ball_vx), 9, EVEN, -5.12f, 0.02f},
    {AT(ball_vy), 9, EVEN, -5.12f, 0.02f},
    SIGMA(AT(ball_sigma_x)),
    SIGMA(AT(ball_sigma_y)),
    RHO(AT(ball_rho)),
    {AT(ball_age), 7, EVEN, 0, 0.1f},
    SHARE(AT(ball_confidence)),
};
static const struct row target[] = {
    PLACE(AT(target_x)), PLACE(AT(target_y)), {AT(target_theta), 10, EVEN, -512 * TURN, TURN}};
static const struct row role[] = {{0, 3, WHOLE, NM_NEWS_ROLES - 1, 0}};
static const struct row echo[] = {{AT(echo_player), 5, WHOLE, NM_NEWS_PLAYERS, 0},
                                  {AT(echo_number), 8, WHOLE, 255, 0},
                                  {AT(echo_held), 12, EVEN, 0, 0.001f}};
static const struct row point[] = {{offsetof(struct nm_news_point, x), 12, GAPS, -20.48f, 0.01f},
                                   {offsetof(struct nm_news_point, y), 12, GAPS, -20.48f, 0.01f}};
static const struct row kick[] = {PLACE(AT(kick_x)), PLACE(AT(kick_y))};
static const struct row look[] = {{AT(head_pan), 10, EVEN, -512 * TURN, TURN}};
static const struct row obstacle[] = {
    {OF(kind), 3, WHOLE, NM_NEWS_KINDS - 1, 0},
    {OF(player), 5, WHOLE, NM_NEWS_PLAYERS, 0},
    PLACE(OF(x)),
    PLACE(OF(y)),
    {OF(vx), 7, EVEN, -3.2f, 0.05f},
    {OF(vy), 7, EVEN, -3.2f, 0.05f},
    SIGMA(OF(sigma)),
    {OF(radius), 6, EVEN, 0, 0.02f},
    {OF(age), 6, EVEN, 0, 0.1f},
    SHARE(OF(confidence)),
};
static const struct row body[] = {
    {AT(max_speed), 7, EVEN, 0, 0.02f}, {AT(max_kick), 7, EVEN, 0, 0.1f}, SHARE(AT(battery))};
static const struct row letter[] = {{0, 8, WHOLE, 255, 0}};

#define ROWS(rows) rows, sizeof rows / sizeof *rows
static const struct section {
    const struct row *rows;
    uint8_t n_rows;
    uint8_t count_bits, most; /* of elements     */
    uint16_t count, at, size; /* members, and bytes of an element */
    uint8_t since;            /* version                          */
} sections[] = {
    /* in the order of importance */
    {ROWS(pose), 1, 1, AT(knows_pose), 0, 0, 1},
    {ROWS(ball), 1, 1, AT(knows_ball), 0, 0, 1},
    {ROWS(target), 1, 1, AT(has_target), 0, 0, 1},
    {ROWS(role), 5, NM_NEWS_PLAYERS, AT(n_roles), AT(roles), 1, 1},
    {ROWS(echo), 1, 1, AT(echoes), 0, 0, 2},
    {ROWS(point), 5, NM_NEWS_PLAYERS, AT(n_search), AT(search), sizeof(struct nm_news_point), 1},
    {ROWS(kick), 1, 1, AT(has_kick), 0, 0, 1},
    {ROWS(look), 1, 1, AT(looks), 0, 0, 1},
    {ROWS(obstacle), 4, NM_NEWS_OBSTACLES, AT(n_obstacles), AT(obstacles), sizeof(struct nm_news_obstacle), 1},
    {ROWS(body), 1, 1, AT(measured), 0, 0, 1},
    {ROWS(letter), 6, NM_NEWS_ERRORS, AT(n_errors), AT(errors), 1, 1},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static uint32_t width(const struct row *rows, uint8_t n)
{
    uint32_t bits = 0;
    for (uint8_t i = 0; i < n; i++) bits += rows[i].bits;
    return bits;
}

static void put_rows(struct bits *b, const struct row *rows, uint8_t n, const void *base)
{
    for (uint8_t i = 0; i < n; i++) put_bits(b, code_of(&rows[i], base), rows[i].bits);
}

static void get_rows(struct bits *b, const struct row *rows, uint8_t n, void *base)
{
    for (uint8_t i = 0; i < n; i++) take_code(&rows[i], base, get_bits(b, rows[i].bits), b);
}

static uint16_t check_of(const uint8_t *bytes, size_t n) { return (uint16_t)nm_crc32(0, bytes, n); }

enum { FIRST_BITS = 8 + 8 + 16 + 32 }; /* magic, version, number, time */

size_t nm_compact_encode(const struct nm_team_news *news, void *bytes, size_t room)
{
    uint32_t counts = 0; /* bits of the counts that are still to be written */
    for (int i = 0; i < SECTIONS; i++) counts += sections[i].count_bits;
    uint32_t least = FIRST_BITS + width(ROWS(head)) + counts;
    if (room < CHECK + (least + 7) / 8) return 0;
    struct bits b = {.bytes = bytes, .end = (uint32_t)(room - CHECK) * 8};
    memset(bytes, 0, room);
    put_bits(&b, MAGIC, 8);
    put_bits(&b, VERSION, 8);
    put_bits(&b, news->number, 16);
    put_bits(&b, (uint32_t)(news->stamp / 1000000), 32);
    put_rows(&b, ROWS(head), news);
    for (int i = 0; i < SECTIONS; i++) {
        const struct section *s = &sections[i];
        uint32_t n = *((const uint8_t *)news + s->count), fit = (b.end - b.at - counts) / width(s->rows, s->n_rows);
        if (n > s->most) n = s->most;
        if (n > fit) {
            n = fit;
            b.end = b.at + counts + fit * width(s->rows, s->n_rows); /* nothing that matters less fills the gap */
        }
        put_bits(&b, n, s->count_bits);
        counts -= s->count_bits;
        for (uint32_t k = 0; k < n; k++) put_rows(&b, s->rows, s->n_rows, (const uint8_t *)news + s->at + k * s->size);
    }
    size_t size = (b.at + 7) / 8;
    uint16_t check = check_of(bytes, size);
    b.bytes[size] = (uint8_t)(check >> 8);
    b.bytes[size + 1] = (uint8_t)check;
    return size + CHECK;
}

bool nm_compact_decode(const void *bytes, size_t n, struct nm_team_news *news)
{
    const uint8_t *wire = bytes;
    *news = (struct nm_team_news){.numbered = true, .stamped = true};
    if (n < CHECK + FIRST_BITS / 8 || n > 1 << 16) return false;
    struct bits b = {.bytes = (uint8_t *)(uintptr_t)bytes, .end = (uint32_t)(n - CHECK) * 8};
    if (get_bits(&b, 8) != MAGIC) return false;
    uint32_t version = get_bits(&b, 8);
    if (version < OLDEST || version > VERSION) return false;
    if (check_of(wire, n - CHECK) != (wire[n - 2] << 8 | wire[n - 1])) return false;
    news->number = (uint16_t)get_bits(&b, 16);
    news->stamp = (int64_t)get_bits(&b, 32) * 1000000;
    get_rows(&b, ROWS(head), news);
    for (int i = 0; i < SECTIONS && !b.bad; i++) {
        const struct section *s = &sections[i];
        if (version < s->since) continue;
        uint32_t count = get_bits(&b, s->count_bits);
        if (count > s->most) return false;
        *((uint8_t *)news + s->count) = (uint8_t)count;
        for (uint32_t k = 0; k < count; k++) get_rows(&b, s->rows, s->n_rows, (uint8_t *)news + s->at + k * s->size);
    }
    return !b.bad && (b.at + 7) / 8 + CHECK == n;
}
