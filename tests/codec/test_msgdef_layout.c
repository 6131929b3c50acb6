/* The tables describe the C struct, and codecs that run them touch every byte of it once. */
#include "msgdef_set.h"

#include "geometry_msgs/Pose.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"
#include "std_msgs/Header.h"
#include "trajectory_msgs/JointTrajectory.h"
#include "visualization_msgs/Marker.h"

static const struct nm_type *lay_out(struct set *s, const char *text)
{
    struct nm_def *def = read_message(s, text);
    const struct nm_type *type = def ? nm_def_type(&s->defs, def, &s->err) : NULL;
    if (!type) fail_msg("%s", s->err.text);
    return type;
}

static void assert_op(const struct nm_op *op, enum nm_op_code code, uint32_t offset, uint32_t elem, uint32_t n)
{
    assert_int_equal(op->code, code);
    assert_int_equal(op->offset, offset);
    assert_int_equal(op->elem, elem);
    assert_int_equal(op->n, n);
}

static void an_imu_is_three_ops(void **state)
{
    (void)state;
    assert_int_equal(Imu_type.n_ops, 3);
    assert_op(&Imu_type.ops[0], NM_OP_COPY, 0, 4, 2);
    assert_op(&Imu_type.ops[1], NM_OP_STRING, offsetof(Imu, header.frame_id), sizeof((Imu *)0)->header.frame_id, 1);
    assert_op(&Imu_type.ops[2], NM_OP_COPY, offsetof(Imu, orientation), 8, 37);
    assert_true(Imu_type.flat);
    assert_int_equal(Imu_type.n_spans, 1);
    assert_int_equal(Imu_type.spans[0].size, sizeof(Imu));
    assert_int_equal(Imu_type.stamp, offsetof(Imu, header.stamp));
}

static void nested_defaults_are_written_out(void **state)
{
    (void)state;
    double one = 1;
    assert_int_equal(Pose_type.n_defaults, 1);
    assert_int_equal(Pose_type.defaults[0].offset + Pose_type.defaults[0].size, offsetof(Pose, orientation.w) + 8);
    assert_memory_equal(Pose_type.defaults[0].bytes, &one, 8);
    Imu imu = {0};
    nm_reset(&Imu_type, &imu);
    assert_float_equal(imu.orientation.w, 1, 0);
}

static void sequences_keep_their_storage_on_reset(void **state)
{
    (void)state;
    const struct nm_type *t = &JointState_type;
    assert_false(t->flat);
    assert_int_equal(t->n_spans, 4); /* header and count of name, then the count behind each storage */
    assert_int_equal(t->spans[0].offset, 0);
    assert_int_equal(t->spans[0].size, offsetof(JointState, name.at));
    assert_int_equal(t->spans[1].offset, offsetof(JointState, name.at) + sizeof((JointState *)0)->name.at);
    assert_int_equal(t->spans[1].offset + t->spans[1].size, offsetof(JointState, position.at));
}

static void ops_of_sequences_and_blobs(void **state)
{
    (void)state;
    const struct nm_op *name = &JointState_type.ops[2];
    assert_op(name, NM_OP_SEQ, offsetof(JointState, name), 32, 32);
    assert_int_equal(name->kind, NM_STRING);
    assert_int_equal(name->first, offsetof(JointState, name.at) - offsetof(JointState, name));
    const struct nm_op *points = &JointTrajectory_type.ops[3];
    assert_op(points, NM_OP_SEQ, offsetof(JointTrajectory, points), sizeof(JointTrajectoryPoint), 16);
    assert_ptr_equal(points->type, &JointTrajectoryPoint_type);
    assert_true(CompressedImage_type.blobs);
    assert_true(Marker_type.blobs);
    assert_op(&CompressedImage_type.ops[2], NM_OP_BLOB, offsetof(CompressedImage, data), 1, 0);
}

static void runs_merge_across_borders_of_structs(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "t_msgs", "P", "float64 x\nfloat64 y\n");
    add(s, NM_MSG, "t_msgs", "Q", "bool a\nbool[3] b\n");
    add(s, NM_MSG, "t_msgs", "R", "uint8 a\nuint32 b\n");
    const struct nm_type *t = lay_out(s, "float64 t\nP p\nP[3] ps\nuint64 n\nQ q\nQ[2] qs\nbyte raw\nint8 i\nR[2] rs\n"
                                         "string a # cap=7\nstring b # cap=7\nstring c # cap=8\n");
    assert_int_equal(t->n_ops, 6);
    assert_op(&t->ops[0], NM_OP_COPY, 0, 8, 10);
    assert_op(&t->ops[1], NM_OP_BOOL, 80, 1, 12);
    assert_op(&t->ops[2], NM_OP_COPY, 92, 1, 2);
    assert_op(&t->ops[3], NM_OP_STRUCTS, 96, 8, 2); /* padding between a and b: no run */
    assert_op(&t->ops[4], NM_OP_STRING, 112, 8, 2);
    assert_op(&t->ops[5], NM_OP_STRING, 128, 9, 1);
}

static void defaults_of_all_kinds_are_bytes(void **state)
{
    struct set *s = *state;
    const struct nm_type *t = lay_out(s, "int8 zero 0\nint16 minus -2\nbool yes true\nstring word \"hi\"\n"
                                         "float32 half 0.5\nuint16[] list [7, 8]\nint32[2] pair [0, 9]\n");
    uint8_t *message = test_malloc(t->size);
    memset(message, 0x55, t->size);
    nm_reset(t, message);
    const struct nm_field *f = t->fields;
    assert_int_equal(message[f[0].offset], 0);
    assert_int_equal(*(int16_t *)(message + f[1].offset), -2);
    assert_int_equal(message[f[2].offset], 1);
    assert_string_equal((char *)message + f[3].offset, "hi");
    assert_float_equal(*(float *)(message + f[4].offset), 0.5, 0);
    assert_int_equal(*(uint32_t *)(message + f[5].offset), 2);
    assert_int_equal(*(uint16_t *)(message + f[5].offset + f[5].first + 2), 8);
    assert_int_equal(*(int32_t *)(message + f[6].offset + 4), 9);
    test_free(message);
}

/* bytes that an op or a nested program writes, each once */
static void touch(const struct nm_op *ops, uint32_t n, uint8_t *seen)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_op *op = &ops[i];
        uint32_t bytes = op->code == NM_OP_BLOB  ? (uint32_t)sizeof(struct nm_blob)
                         : op->code == NM_OP_SEQ ? op->first + op->n * op->elem
                                                 : op->n * op->elem;
        for (uint32_t k = 0; k < bytes; k++) {
            assert_int_equal(seen[op->offset + k], 0);
            seen[op->offset + k] = 1;
        }
    }
}

static void mark(const struct nm_type *type, uint32_t base, uint8_t *member)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *f = &type->fields[i];
        if (f->kind == NM_STRUCT && f->shape != NM_SEQ && f->cap == 1) {
            mark(f->type, base + f->offset, member);
            continue;
        }
        uint32_t bytes = f->shape == NM_BLOB ? (uint32_t)sizeof(struct nm_blob) : f->first + f->cap * f->elem;
        memset(member + base + f->offset, 1, bytes);
    }
}

static void ops_cover_every_member_of_every_type_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        const struct nm_type *t = nm_all_types.at[i];
        uint8_t *seen = test_calloc(2, t->size), *member = seen + t->size;
        touch(t->ops, t->n_ops, seen);
        mark(t, 0, member);
        for (uint32_t k = 0; k < t->size; k++)
            if (member[k] && !seen[k]) fail_msg("%s: byte %u belongs to a member but to no op", t->name, k);
        test_free(seen);
    }
}

static void spans_leave_only_storages_out(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        const struct nm_type *t = nm_all_types.at[i];
        uint64_t cleared = 0, storage = 0;
        uint32_t end = 0;
        for (uint32_t k = 0; k < t->n_spans; k++) {
            assert_true(k == 0 || t->spans[k].offset > end);
            end = t->spans[k].offset + t->spans[k].size;
            cleared += t->spans[k].size;
        }
        assert_true(end <= t->size);
        for (uint32_t k = 0; k < t->n_ops; k++) {
            const struct nm_op *op = &t->ops[k];
            if (op->code == NM_OP_SEQ) storage += (uint64_t)op->n * op->elem;
            if (op->code == NM_OP_STRUCTS && !op->type->flat) storage = t->size - cleared; /* counted inside */
        }
        assert_int_equal(cleared + storage, t->size);
        assert_int_equal(t->flat, cleared == t->size && !t->blobs);
    }
}

static void layout_hash_sees_capacity_and_names(void **state)
{
    (void)state;
    static const char *const texts[] = {"int8[] a # cap=3\n",  "int8[] a # cap=4\n", "int8[] b # cap=3\n",
                                        "uint8[] a # cap=3\n", "int8[] a # blob\n",  "int8[3] a\n"};
    enum { N = sizeof texts / sizeof *texts };
    uint64_t layout[N];
    for (int i = 0; i < N; i++) {
        void *fresh;
        begin(&fresh);
        layout[i] = lay_out(fresh, texts[i])->layout;
        end(&fresh);
        for (int k = 0; k < i; k++) assert_true(layout[k] != layout[i]);
    }
}

static void sizes_stay_reasonable(void **state)
{
    (void)state;
    uint32_t large = 0;
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        assert_true(nm_all_types.at[i]->size < 1 << 20);
        if (nm_all_types.at[i]->size > 64 << 10) large++;
    }
    assert_true(large < nm_all_types.n / 10);
}

static void too_large_is_refused(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"int8 a\nfloat64[3000000] b\n",
         "T.msg:2: t_msgs/msg/T grows beyond 16777216 bytes at b; give it a smaller cap or make it a blob\n"},
        {"Seq[100000] a\n", "T.msg:1: t_msgs/msg/T has more than 65536 parts when written out\n"},
        {"One[100000] a\n", "T.msg:1: t_msgs/msg/T has more than 65536 parts when written out\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        add(s, NM_MSG, "t_msgs", "Seq", "int8[] a # cap=1\n");
        add(s, NM_MSG, "t_msgs", "One", "int8 a 1\n");
        struct nm_def *def = read_message(s, texts[i][0]);
        assert_non_null(def);
        assert_null(nm_def_type(&s->defs, def, &s->err));
        assert_string_equal(s->err.text, texts[i][1]);
        end(&fresh);
    }
}

static void stamps_are_found(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "builtin_interfaces", "Time", "int32 sec\nuint32 nanosec\n");
    add(s, NM_MSG, "std_msgs", "Header", "builtin_interfaces/Time stamp\nstring frame_id\n");
    add(s, NM_MSG, "t_msgs", "First", "builtin_interfaces/Time stamp\n");
    add(s, NM_MSG, "t_msgs", "Later", "int8 a\nbuiltin_interfaces/Time stamp\n");
    add(s, NM_MSG, "t_msgs", "Headed", "uint8 A=1\nstd_msgs/Header header\n");
    assert_int_equal(nm_defs_link(&s->defs, &s->err), 0);
    static const struct {
        const char *name;
        uint32_t stamp;
    } expected[] = {{"t_msgs/First", 0}, {"t_msgs/Later", UINT32_MAX}, {"t_msgs/Headed", 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(nm_def_type(&s->defs, nm_defs_find(&s->defs, expected[i].name), &s->err)->stamp,
                         expected[i].stamp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_imu_is_three_ops),
        cmocka_unit_test(nested_defaults_are_written_out),
        cmocka_unit_test(sequences_keep_their_storage_on_reset),
        cmocka_unit_test(ops_of_sequences_and_blobs),
        TEST(runs_merge_across_borders_of_structs),
        TEST(defaults_of_all_kinds_are_bytes),
        cmocka_unit_test(ops_cover_every_member_of_every_type_once),
        cmocka_unit_test(spans_leave_only_storages_out),
        cmocka_unit_test(layout_hash_sees_capacity_and_names),
        cmocka_unit_test(sizes_stay_reasonable),
        cmocka_unit_test(too_large_is_refused),
        TEST(stamps_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
