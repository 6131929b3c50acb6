/* The way between two cycles, step by step against a model: whole sets, no queue message lost or doubled while there is
 * room, payloads shared and given back. */
#include "core/started.h"

#include <stdlib.h>

#include "std_msgs/Int32.h"
#include "sensor_msgs/Image.h"
#include "core/internal.h"

/* a module that only names the topics; the edges do the work */
struct ends {
    struct nm *nm;
    const Int32 *a, *b;
    nm_queue(Int32) q;
    const Image *image;
};
#define SELF struct ends
static void step(struct ends *f) { (void)f; }
static const struct nm_port ports[] = {
    NM_IN(a, Int32, "a"), NM_IN(b, Int32, "b"), NM_QUEUE(q, Int32, "q", 8), NM_IN(image, Image, "image"), {0}};
NM_MODULE(ends, "Names the topics.", NM_PORTS(ports), .step = NM_CALL(step))

enum { A, B, Q, IMAGE, TOPICS };

static struct nm_edge *producer(struct started *s)
{
    return edge(s,
                (struct nm_edge_port[]){{"a", NM_PORT_OUT, &Int32_type, 0, 0},
                                        {"b", NM_PORT_OUT, NULL, 0, 0},
                                        {"q", NM_PORT_OUT_QUEUE, NULL, 0, 0},
                                        {"image", NM_PORT_OUT, NULL, 0, 64}},
                TOPICS);
}

static struct nm_edge *consumer(struct started *s)
{
    return edge(s,
                (struct nm_edge_port[]){{"a", NM_PORT_IN, NULL, 0, 0},
                                        {"b", NM_PORT_IN, NULL, 0, 0},
                                        {"q", NM_PORT_QUEUE, NULL, 0, 0},
                                        {"image", NM_PORT_IN, NULL, 0, 0}},
                TOPICS);
}

static const char *const text = "cycles: {c: {period: 10 ms, modules: [ends]}}\nremote: [a, b, q, image]\n";

static void random_interleavings_match_a_model(void **state)
{
    (void)state;
    struct started s;
    start(&s, text);
    struct nm_edge *from = producer(&s), *to = consumer(&s);
    run_until(&s, 1);
    int32_t sent_a = 0, sent_b = 0, pushed = 0, read = 0, freed = 0;
    int32_t set_a = 0, set_b = 0, set_pushed = 0; /* in the set that was closed last */
    int32_t had_a = 0, had_b = 0;                 /* what the consumer saw before */
    srand48(5);
    for (int i = 0; i < 20000; i++) {
        if (drand48() < 0.5) {
            nm_edge_begin(from, i);
            if (drand48() < 0.5) ((Int32 *)nm_edge_out(from, A))->data = ++sent_a, nm_edge_put(from, A);
            if (drand48() < 0.3) ((Int32 *)nm_edge_out(from, B))->data = ++sent_b, nm_edge_put(from, B);
            /* the lane holds 16, this run's batch among them: never more than that may wait */
            for (int k = (int)(drand48() * 4); k > 0 && pushed - freed < 16; k--)
                ((Int32 *)nm_edge_push(from, Q))->data = ++pushed;
            nm_edge_end(from);
            if (sent_a != set_a || sent_b != set_b || pushed != set_pushed)
                set_a = sent_a, set_b = sent_b, set_pushed = pushed;
        } else {
            const void *const *at;
            uint32_t lost = 1;
            freed = read;
            nm_edge_begin(to, i);
            assert_int_equal(((const Int32 *)nm_edge_in(to, A))->data, set_a);
            assert_int_equal(((const Int32 *)nm_edge_in(to, B))->data, set_b);
            assert_int_equal(nm_edge_fresh(to, A), set_a != had_a);
            assert_int_equal(nm_edge_fresh(to, B), set_b != had_b);
            had_a = set_a;
            had_b = set_b;
            uint32_t n = nm_edge_queue(to, Q, &at, &lost);
            assert_int_equal(lost, 0);
            for (uint32_t k = 0; k < n; k++) assert_int_equal(((const Int32 *)at[k])->data, ++read);
            assert_int_equal(read, set_pushed);
            nm_edge_end(to);
        }
    }
    stop(&s);
}

/* ---- several makers ---- */

enum { MAKERS = 3, VALUES = 2 };

/* What an edge from outside brings: some of the topics, or all. */
static struct nm_edge *stranger(struct started *s, const bool *brings)
{
    static const char *const names[VALUES] = {"a", "b"};
    struct nm_edge_port ports[VALUES];
    for (int t = 0; t < VALUES; t++) /* a topic without name stands for none */
        ports[t] = (struct nm_edge_port){
            brings[t] ? names[t] : "", NM_PORT_OUT | NM_EDGE_OPTIONAL | (enum nm_port_kind)NM_EDGE_OUTSIDE, NULL, 0, 0};
    return edge(s, ports, VALUES);
}

struct sent { /* the newest message of a topic: by one maker, or that a reader may see */
    int32_t order, data;
};

struct makers {
    struct started s;
    struct nm_edge *edges[MAKERS], *to;
    bool brings[MAKERS][VALUES], open[MAKERS];
    struct sent put[MAKERS][VALUES], sent[MAKERS][VALUES], seen[VALUES];
    int32_t order[VALUES], data;
};

static void somebody_says(struct makers *m, int w, int64_t now)
{
    if (!m->open[w]) nm_edge_begin(m->edges[w], now);
    m->open[w] = true;
    for (int t = 0; t < VALUES; t++) {
        if (!m->brings[w][t] || drand48() < 0.6) continue;
        m->put[w][t] = (struct sent){++m->order[t], ++m->data};
        ((Int32 *)nm_edge_out(m->edges[w], (uint32_t)t))->data = m->data;
        nm_edge_put(m->edges[w], (uint32_t)t);
    }
    if (drand48() < 0.3) return; /* hands it on later: what others say meanwhile is newer */
    nm_edge_end(m->edges[w]);
    m->open[w] = false;
    memcpy(m->sent[w], m->put[w], sizeof m->sent[w]);
}

/* Of each topic the message that was said last, of those that were handed on; nothing else moves. */
static void somebody_reads(struct makers *m, int64_t now)
{
    nm_edge_begin(m->to, now);
    for (int t = 0; t < VALUES; t++) {
        struct sent newest = m->seen[t];
        for (int w = 0; w < MAKERS; w++)
            if (m->sent[w][t].order > newest.order) newest = m->sent[w][t];
        const Int32 *got = nm_edge_in(m->to, (uint32_t)t);
        assert_int_equal(got->data, newest.data);
        assert_int_equal(nm_edge_fresh(m->to, (uint32_t)t), newest.order != m->seen[t].order);
        m->seen[t] = newest;
    }
    nm_edge_end(m->to);
}

/* The module of the line-up and an edge see the same. */
static void any_writers_interleave_as_a_model_says(void **state)
{
    (void)state;
    srand48(11);
    for (int world = 0; world < 40; world++) {
        struct makers m = {0};
        start(&m.s, text);
        for (int w = 0; w < MAKERS; w++) {
            for (int t = 0; t < VALUES; t++) m.brings[w][t] = drand48() < 0.7;
            m.edges[w] = stranger(&m.s, m.brings[w]);
        }
        m.to = consumer(&m.s);
        run_until(&m.s, 1);
        for (int i = 0; i < 1000; i++) {
            int who = (int)(drand48() * (MAKERS + 1));
            if (who < MAKERS)
                somebody_says(&m, who, i);
            else
                somebody_reads(&m, i);
        }
        somebody_reads(&m, 1000);
        run_until(&m.s, 1000);
        const struct ends *ends = nm_player_self(m.s.player, 0);
        assert_int_equal(ends->a->data, m.seen[0].data);
        assert_int_equal(ends->b->data, m.seen[1].data);
        stop(&m.s);
    }
}

/* Whatever strangers say, and whoever came first. */
static void what_hardware_makes_is_not_taken_from_outside(void **state)
{
    static const bool all[VALUES] = {true, true};
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct started s;
        start(&s, text);
        struct nm_edge *outside = late ? NULL : stranger(&s, all);
        struct nm_edge *bus =
            nm_edge_new(s.player, "bus", (struct nm_edge_port[]){{"a", NM_PORT_OUT, NULL, 0, 0}}, 1, NULL);
        if (late) outside = stranger(&s, all);
        struct nm_edge *to = consumer(&s);
        assert_string_equal(nm_player_hardware(s.player, nm_lineup_topic(s.lineup, "a")), "bus");
        assert_null(nm_player_hardware(s.player, nm_lineup_topic(s.lineup, "b")));
        run_until(&s, 1);
        nm_edge_begin(bus, 1);
        ((Int32 *)nm_edge_out(bus, 0))->data = 7;
        nm_edge_put(bus, 0);
        nm_edge_end(bus);
        nm_edge_begin(outside, 2);
        assert_null(nm_edge_out(outside, 0));
        nm_edge_put(outside, 0);
        ((Int32 *)nm_edge_out(outside, 1))->data = 8;
        nm_edge_put(outside, 1);
        nm_edge_end(outside);
        nm_edge_begin(to, 3);
        assert_int_equal(((const Int32 *)nm_edge_in(to, A))->data, 7);
        assert_int_equal(((const Int32 *)nm_edge_in(to, B))->data, 8);
        nm_edge_end(to);
        struct nm_topic_stats stats;
        nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "a"), &stats);
        assert_int_equal(stats.refused, 1);
        assert_int_equal(stats.seq, 1);
        assert_string_equal(stats.maker, "bus");
        stop(&s);
    }
}

static void two_edges_of_ours_do_not_make_one_value(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    start(&s, text);
    assert_non_null(nm_edge_new(s.player, "bus", (struct nm_edge_port[]){{"a", NM_PORT_OUT, NULL, 0, 0}}, 1, &err));
    assert_null(nm_edge_new(s.player, "stick", (struct nm_edge_port[]){{"a", NM_PORT_OUT, NULL, 0, 0}}, 1, &err));
    assert_non_null(strstr(err.text, "stick: the topic a is made by the edge 'bus' already"));
    stop(&s);
}

static void a_full_lane_loses_the_newest_and_says_so_once(void **state)
{
    (void)state;
    struct started s;
    start(&s, text);
    struct nm_edge *from = producer(&s), *to = consumer(&s);
    run_until(&s, 1);
    const void *const *at;
    uint32_t lost;
    for (int i = 0; i < 5; i++) {
        nm_edge_begin(from, i);
        for (int k = 0; k < 8; k++) ((Int32 *)nm_edge_push(from, Q))->data = 8 * i + k;
        nm_edge_end(from);
    }
    nm_edge_begin(to, 9);
    assert_int_equal(nm_edge_queue(to, Q, &at, &lost), 16);
    assert_int_equal(lost, 24);
    assert_int_equal(((const Int32 *)at[15])->data, 15);
    nm_edge_end(to);
    nm_edge_begin(to, 10);
    assert_int_equal(nm_edge_queue(to, Q, &at, &lost), 0);
    assert_int_equal(lost, 0);
    stop(&s);
}

static void payloads_are_shared_and_given_back(void **state)
{
    (void)state;
    struct started s;
    start(&s, text);
    struct nm_edge *from = producer(&s), *to = consumer(&s);
    run_until(&s, 1);
    struct nm_blob_pool *pool = s.player->topics[nm_lineup_topic(s.lineup, "image")].pool;
    const uint8_t *sent = NULL;
    for (int i = 0; i < 1000; i++) {
        nm_edge_begin(from, i);
        Image *image = nm_edge_out(from, IMAGE);
        assert_true(nm_edge_blob(from, IMAGE, &image->data, 64));
        image->data.n = 64;
        image->data.data[63] = (uint8_t)i;
        sent = image->data.data;
        nm_edge_put(from, IMAGE);
        nm_edge_end(from);
        if (i % 3) continue;
        nm_edge_begin(to, i);
        const Image *got = nm_edge_in(to, IMAGE);
        assert_ptr_equal(got->data.data, sent); /* the same bytes, not a copy */
        assert_int_equal(got->data.data[63], (uint8_t)i);
        nm_edge_end(to);
    }
    assert_true(pool->used <= pool->count);
    assert_int_equal(pool->refused, 0);
    struct nm_blob too_large = {0};
    assert_false(nm_edge_blob(from, IMAGE, &too_large, 65));
    stop(&s);
}

static void wrong_edges_are_refused_with_a_sentence(void **state)
{
    (void)state;
    struct started s;
    start(&s, text);
    const struct {
        struct nm_edge_port port;
        const char *sentence;
    } wrong[] = {
        {{"nothing", NM_PORT_IN, NULL, 0, 0}, "no module of test.yaml makes or reads the topic nothing"},
        {{"a", NM_PORT_IN, &Image_type, 0, 0}, "the topic a carries std_msgs/msg/Int32, not sensor_msgs/msg/Image"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nm_err err = {0};
        assert_null(nm_edge_new(s.player, "edge", &wrong[i].port, 1, &err));
        assert_non_null(strstr(err.text, wrong[i].sentence));
    }
    struct nm_err err = {0};
    struct nm_edge *e = nm_edge_new(
        s.player, "edge", &(struct nm_edge_port){"nothing", NM_PORT_IN | NM_EDGE_OPTIONAL, NULL, 0, 0}, 1, &err);
    assert_non_null(e);
    run_until(&s, 1);
    nm_edge_begin(e, 1);
    assert_false(nm_edge_fresh(e, 0));
    nm_edge_end(e);
    assert_null(nm_edge_new(s.player, "late", NULL, 0, &err));
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_interleavings_match_a_model),
        cmocka_unit_test(any_writers_interleave_as_a_model_says),
        cmocka_unit_test(what_hardware_makes_is_not_taken_from_outside),
        cmocka_unit_test(two_edges_of_ours_do_not_make_one_value),
        cmocka_unit_test(a_full_lane_loses_the_newest_and_says_so_once),
        cmocka_unit_test(payloads_are_shared_and_given_back),
        cmocka_unit_test(wrong_edges_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
