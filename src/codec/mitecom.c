#include "codec/mitecom.h"

#include <math.h>

#include "base/geometry.h"

enum { HEAD = 16, PAIR = 8, VERSION = 1 };
static const uint32_t MAGIC = 0x4D585443; /* little-endian: C T X M on the wire */

enum key {
    ROLE = 0x00000000,
    ACTION = 0x00000001,
    STATE = 0x00000002,
    OWN_X = 0x00010000,  /* y, heading, belief follow */
    BALL_X = 0x00010004, /* y, belief follow */
    GOAL_X = 0x00010007,
    RIVAL_X = 0x0001000A, /* four of x, y, belief */
    MATE_X = 0x00010016,  /* three                */
    SPEED = 0x00020001,
    TIME_TO_BALL = 0x00020002,
    MAX_KICK = 0x00020003,
    SIDE = 0x00030001,
    NUMBER = 0x4E4D0000, /* ours */
    CLOCK = 0x4E4D0001,  /* ms   */
    WHISTLE = 0x4E4D0002,
};
enum { RIVALS = 4, MATES = 3, PAIRS = 64 };

/* What mitecom does not have becomes what is nearest to it. */
static const uint8_t roles[NM_NEWS_ROLES] = {0, 1, 2, 3, 4, 5, NM_NEWS_SUPPORTER};
static const uint8_t actions[NM_NEWS_ACTIONS] = {
    0, 1, 2, 3, 4, NM_NEWS_TRYING_TO_SCORE, NM_NEWS_POSITIONING, NM_NEWS_UNDEFINED};
static const uint8_t states[NM_NEWS_STATES] = {NM_NEWS_INACTIVE, NM_NEWS_ACTIVE, NM_NEWS_PENALIZED, NM_NEWS_INACTIVE};
enum { THEIR_ROLES = 6, THEIR_ACTIONS = 5, THEIR_STATES = 3 };

struct list {
    uint32_t n, most;
    uint32_t keys[PAIRS];
    int32_t values[PAIRS];
};

static void add(struct list *list, uint32_t key, double value)
{
    if (list->n == list->most || !(fabs(value) < INT32_MAX)) return;
    list->keys[list->n] = key;
    list->values[list->n++] = (int32_t)lround(value);
}

static void add_place(struct list *list, uint32_t key, double x, double y, double belief)
{
    if (list->most - list->n < 3) return; /* all or nothing */
    add(list, key, 1000 * x);
    add(list, key + 1, 1000 * y);
    add(list, key + 2, 255 * belief);
}

static struct pose2 own_pose(const struct nm_team_news *news)
{
    return (struct pose2){(double)news->x, (double)news->y, (double)news->theta};
}

static void add_pose(struct list *list, const struct nm_team_news *news)
{
    if (!news->knows_pose || list->most - list->n < 4) return;
    add(list, OWN_X, 1000 * (double)news->x);
    add(list, OWN_X + 1, 1000 * (double)news->y);
    add(list, OWN_X + 2, (double)news->theta * 180 / M_PI);
    add(list, OWN_X + 3, 255 * (double)news->belief);
}

/* The ball is relative to the robot, so a robot that does not know where it stands cannot tell of it. */
static void add_ball(struct list *list, const struct nm_team_news *news)
{
    if (!news->knows_pose || !news->knows_ball) return;
    struct pose2 at =
        pose2_mul(pose2_inv(own_pose(news)), (struct pose2){(double)news->ball_x, (double)news->ball_y, 0});
    add_place(list, BALL_X, at.x, at.y, (double)news->ball_confidence);
}

static void add_robots(struct list *list, const struct nm_team_news *news, bool mates)
{
    uint32_t n = 0, most = mates ? MATES : RIVALS, key = mates ? MATE_X : RIVAL_X;
    for (uint32_t i = 0; i < news->n_obstacles && i < NM_NEWS_OBSTACLES && n < most; i++) {
        const struct nm_news_obstacle *o = &news->obstacles[i];
        bool is_mate = o->kind == NM_NEWS_MATE, is_rival = o->kind == NM_NEWS_RIVAL || o->kind == NM_NEWS_ROBOT;
        if (mates ? is_mate : is_rival)
            add_place(list, key + 3 * n++, (double)o->x, (double)o->y, (double)o->confidence);
    }
}

static void put(uint8_t *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get(const uint8_t *from, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint32_t)from[i] << 8 * i;
    return value;
}

size_t nm_mitecom_encode(const struct nm_team_news *news, void *bytes, size_t room)
{
    uint8_t *wire = bytes;
    if (room < HEAD) return 0;
    struct list list = {.most = (uint32_t)((room - HEAD) / PAIR < PAIRS ? (room - HEAD) / PAIR : PAIRS)};
    /* in the order of importance */
    add(&list, STATE, states[news->state % NM_NEWS_STATES]);
    add(&list, ROLE, news->role < NM_NEWS_ROLES ? roles[news->role] : 0);
    add(&list, ACTION, news->action < NM_NEWS_ACTIONS ? actions[news->action] : 0);
    add_pose(&list, news);
    add_ball(&list, news);
    add(&list, TIME_TO_BALL, (double)news->time_to_ball); /* left out if infinite */
    add(&list, NUMBER, news->number);
    add(&list, CLOCK, (double)(int32_t)(uint32_t)(news->stamp / 1000000));
    if (news->whistle) add(&list, WHISTLE, 1);
    add(&list, SIDE, news->side);
    if (news->measured) add(&list, SPEED, 100 * (double)news->max_speed);
    if (news->measured) add(&list, MAX_KICK, 1000 * (double)news->max_kick);
    add_robots(&list, news, false);
    add_robots(&list, news, true);
    put(wire, MAGIC, 4);
    put(wire + 4, VERSION, 2);
    put(wire + 6, list.n, 2);
    put(wire + 8, 0, 4);
    put(wire + 12, news->team, 2);
    put(wire + 14, news->player, 2);
    for (uint32_t i = 0; i < list.n; i++) {
        put(wire + HEAD + PAIR * i, list.keys[i], 4);
        put(wire + HEAD + PAIR * i + 4, (uint32_t)list.values[i], 4);
    }
    return HEAD + PAIR * (size_t)list.n;
}

/* ---- reading ---- */

struct heard {
    const uint8_t *pairs;
    uint32_t n;
};

/* The value of a key, the last if it is there twice; false if it is not there. */
static bool find(const struct heard *h, uint32_t key, int32_t *value)
{
    bool found = false;
    for (uint32_t i = 0; i < h->n; i++) {
        if (get(h->pairs + PAIR * i, 4) != key) continue;
        *value = (int32_t)get(h->pairs + PAIR * i + 4, 4);
        found = true;
    }
    return found;
}

static uint8_t find_word(const struct heard *h, uint32_t key, uint8_t words)
{
    int32_t value;
    return find(h, key, &value) && value > 0 && value < words ? (uint8_t)value : 0;
}

/* x and y in metres, belief from 0 to 1; false if nothing is known */
static bool find_place(const struct heard *h, uint32_t key, float *x, float *y, float *belief)
{
    int32_t mm_x, mm_y, of_255;
    if (!find(h, key, &mm_x) || !find(h, key + 1, &mm_y) || !find(h, key + 2, &of_255) || of_255 <= 0) return false;
    *x = (float)mm_x / 1000;
    *y = (float)mm_y / 1000;
    *belief = fminf((float)of_255 / 255, 1);
    return true;
}

static void read_pose(const struct heard *h, struct nm_team_news *news)
{
    int32_t x, y, degrees, belief;
    if (!find(h, OWN_X, &x) || !find(h, OWN_X + 1, &y) || !find(h, OWN_X + 2, &degrees)) return;
    if (!find(h, OWN_X + 3, &belief) || belief <= 0) return;
    news->knows_pose = true;
    news->x = (float)x / 1000;
    news->y = (float)y / 1000;
    news->theta = (float)angle_normal(degrees * M_PI / 180);
    news->belief = fminf((float)belief / 255, 1);
    news->sigma_x = news->sigma_y = 0.1f + 0.9f * (1 - news->belief); /* mitecom has only the belief */
    news->sigma_theta = news->sigma_x / 2;
}

static void read_ball(const struct heard *h, struct nm_team_news *news)
{
    float x, y;
    if (!news->knows_pose || !find_place(h, BALL_X, &x, &y, &news->ball_confidence)) return;
    struct pose2 at = pose2_mul(own_pose(news), (struct pose2){(double)x, (double)y, 0});
    news->knows_ball = true;
    news->ball_x = (float)at.x;
    news->ball_y = (float)at.y;
    news->ball_sigma_x = news->ball_sigma_y = news->sigma_x + 0.1f * hypotf(x, y);
}

static void read_robots(const struct heard *h, struct nm_team_news *news, bool mates)
{
    for (uint32_t i = 0; i < (uint32_t)(mates ? MATES : RIVALS) && news->n_obstacles < NM_NEWS_OBSTACLES; i++) {
        struct nm_news_obstacle o = {.kind = mates ? NM_NEWS_MATE : NM_NEWS_RIVAL, .sigma = 0.3f, .radius = 0.15f};
        if (find_place(h, (mates ? MATE_X : RIVAL_X) + 3 * i, &o.x, &o.y, &o.confidence))
            news->obstacles[news->n_obstacles++] = o;
    }
}

bool nm_mitecom_decode(const void *bytes, size_t n, struct nm_team_news *news)
{
    const uint8_t *wire = bytes;
    int32_t value, kick;
    *news = (struct nm_team_news){.time_to_ball = INFINITY};
    if (n < HEAD || get(wire, 4) != MAGIC || get(wire + 4, 2) != VERSION) return false;
    struct heard h = {wire + HEAD, get(wire + 6, 2)};
    uint32_t team = get(wire + 12, 2), player = get(wire + 14, 2);
    if (n != HEAD + PAIR * (size_t)h.n || team > 255 || !player || player > NM_NEWS_PLAYERS) return false;
    news->team = (uint8_t)team;
    news->player = (uint8_t)player;
    news->state = find_word(&h, STATE, THEIR_STATES);
    news->role = find_word(&h, ROLE, THEIR_ROLES);
    news->action = find_word(&h, ACTION, THEIR_ACTIONS);
    news->side = find_word(&h, SIDE, NM_NEWS_SIDES);
    news->whistle = find_word(&h, WHISTLE, 2);
    news->numbered = find(&h, NUMBER, &value);
    if (news->numbered) news->number = (uint16_t)value;
    news->stamped = find(&h, CLOCK, &value);
    if (news->stamped) news->stamp = (int64_t)(uint32_t)value * 1000000;
    if (find(&h, TIME_TO_BALL, &value) && value >= 0) news->time_to_ball = (float)value;
    news->measured = find(&h, SPEED, &value) && find(&h, MAX_KICK, &kick) && value >= 0 && kick >= 0;
    if (news->measured) {
        news->max_speed = (float)value / 100;
        news->max_kick = (float)kick / 1000;
    }
    read_pose(&h, news);
    read_ball(&h, news);
    read_robots(&h, news, false);
    read_robots(&h, news, true);
    return true;
}
