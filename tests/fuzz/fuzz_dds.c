/* Whatever a peer sends: samples of topics, requests and replies of services, the parameter services, the parts of an
 * action, the graph, and the texts of discovery. The first byte says where the rest goes. A real player and a real
 * peer, in one process and virtual time: what is written has arrived when the write returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../edge/dds/private_domain.h"
#include "base/arena.h"
#include "core/action.h"
#include "core/player.h"
#include "edge/dds/dds.h"
#include "edge/dds/domain.h"
#include "edge/dds/dds_look.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/JointState.h"
#include "std_msgs/String.h"
#include "std_srvs/SetBool.h"
#include "std_srvs/Trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes in all there is. */
struct mouth {
    struct nm *nm;
    const JointState *joints;
    const Image *image;
    nm_queue(String) words;
    nm_server(SetBool) shut;
    nm_client(Trigger) chew;
    nm_action(PlayAnimation) play;
    float bite;
    bool open;
    char taste[16];
};
static void eat(struct mouth *m)
{
    for (uint32_t i = 0; i < m->shut.requests.n; i++) nm_reply(m->nm, &m->shut, m->shut.requests.at[i])->success = true;
    nm_call(m->nm, &m->chew);
    if (nm_action_step(m->nm, PlayAnimation, &m->play)) nm_action_accept(m->nm, PlayAnimation, &m->play);
    if (nm_action_active(&m->play) && m->play.state.cancel)
        nm_action_finish(m->nm, PlayAnimation, &m->play, GoalStatus_STATUS_CANCELED);
}
#define SELF struct mouth
static const struct nm_port ports[] = {
    NM_IN(joints, JointState, "joints"),
    NM_IN(image, Image, "image"),
    NM_QUEUE(words, String, "words", 8),
    NM_SERVER(shut, SetBool, "shut", 4),
    NM_CLIENT(chew, Trigger, "chew", 4),
    NM_ACTION(play, PlayAnimation, "play"),
    {0},
};
static const struct nm_param params[] = {NM_PARAM(bite, 1, 0, 10, "N", "how hard"),
                                         NM_PARAM_SWITCH(open, true, "or shut"),
                                         NM_PARAM_WORD(taste, "sweet", "sweet sour", "of it"),
                                         {0}};
NM_MODULE(mouth, "Eats.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(eat))
#undef SELF

#define PARAMS "rcl_interfaces::srv::dds_::"
#define ACTION "humanoid_league_msgs::action::dds_::PlayAnimation_"
static const char *const places[][2] = {
    {"rt/joints", "sensor_msgs::msg::dds_::JointState_"},
    {"rt/image", "sensor_msgs::msg::dds_::Image_"},
    {"rt/words", "std_msgs::msg::dds_::String_"},
    {"rq/shutRequest", "std_srvs::srv::dds_::SetBool_Request_"},
    {"rr/chewReply", "std_srvs::srv::dds_::Trigger_Response_"},
    {"rq/play/_action/send_goalRequest", ACTION "SendGoal_Request_"},
    {"rq/play/_action/get_resultRequest", ACTION "GetResult_Request_"},
    {"rq/play/_action/cancel_goalRequest", "action_msgs::srv::dds_::CancelGoal_Request_"},
    {"rq/fuzz/list_parametersRequest", PARAMS "ListParameters_Request_"},
    {"rq/fuzz/get_parametersRequest", PARAMS "GetParameters_Request_"},
    {"rq/fuzz/get_parameter_typesRequest", PARAMS "GetParameterTypes_Request_"},
    {"rq/fuzz/describe_parametersRequest", PARAMS "DescribeParameters_Request_"},
    {"rq/fuzz/set_parametersRequest", PARAMS "SetParameters_Request_"},
    {"rq/fuzz/set_parameters_atomicallyRequest", PARAMS "SetParametersAtomically_Request_"},
    {"ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"},
};
enum { PLACES = sizeof places / sizeof places[0], TEXTS = PLACES, OURS = 8 /* of the line-up */ };

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_player *player;
    struct nm_dds *dds;
    struct nm_look *look;
    dds_entity_t writers[PLACES];
    int64_t now;
} world;

static void must(bool well, const struct nm_err *err)
{
    if (well) return;
    fputs(err->text, stderr);
    abort();
}

static dds_entity_t writer_to(dds_entity_t participant, const char *name, const char *type)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
    dds_entity_t writer = dds_create_writer(participant, nm_raw_topic(participant, name, type), qos, NULL);
    dds_delete_qos(qos);
    return writer;
}

static bool all_matched(void)
{
    for (int i = 0; i < PLACES; i++) {
        dds_publication_matched_status_t status;
        dds_get_publication_matched_status(world.writers[i], &status);
        if (!status.current_count) return false;
    }
    return true;
}

static void begin(void)
{
    static const char text[] =
        "cycles: {head: {period: 10 ms, modules: [mouth]}}\nremote: [joints, image, words, chew]\n";
    struct nm_err err = {0};
    uint32_t domain = (uint32_t)private_domain();
    nm_registry_init(&world.registry, &world.arena, __start_nm_modules, __stop_nm_modules);
    struct nm_lineup_options where = {.root = "/nonexistent"};
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), "fuzz.yaml", &world.registry, &where, &err);
    must(lineup, &err);
    world.player = nm_player_new(lineup, &(struct nm_player_options){.name = "fuzz"}, &err);
    must(world.player, &err);
    world.dds = nm_dds_new(world.player,
                           &(struct nm_dds_options){.domain = (int)domain, .virtual_time = true, .blob = 4096}, &err);
    must(world.dds, &err);
    world.look = nm_look_new((int)domain, false, &err);
    must(world.look && !nm_look_graph(world.look, &err), &err);
    dds_entity_t peer = nm_domain_join(domain, false, &err);
    must(peer > 0, &err);
    for (int i = 0; i < PLACES; i++) world.writers[i] = writer_to(peer, places[i][0], places[i][1]);
    while (!all_matched()) usleep(1000);
}

static void turn(void)
{
    world.now += 10000000;
    nm_players_run(&world.player, 1, world.now, 1);
    nm_dds_poll(world.dds);
}

static void no_node(void *user, const char *name)
{
    (void)user;
    if (strlen(name) > 2 * NM_ROS_NAME || strchr(name, '\033')) abort();
}

static void no_end(void *user, const char *kind, const char *name, const char *type)
{
    (void)user, (void)kind, (void)type;
    if (strlen(name) >= NM_ROS_NAME) abort();
}

static void read_texts(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"typehash", "serviceid", ""};
    char value[32];
    for (int i = 0; i < 3; i++)
        if (nm_user_data(data, size, keys[i], value, sizeof value) && strlen(value) >= sizeof value) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    if (!world.player) begin();
    uint32_t place = data[0] % (PLACES + 1);
    if (place == TEXTS) {
        read_texts(data + 1, size - 1);
        return 0;
    }
    struct nm_dds_stats before, after;
    nm_dds_stats(world.dds, &before);
    int sent = nm_raw_write(world.writers[place], data + 1, size - 1);
    turn();
    turn();
    nm_dds_stats(world.dds, &after);
    if (place < OURS && !sent && after.taken == before.taken) abort(); /* it never arrived */
    nm_look_nodes(world.look, no_node, "/fuzz", no_end, NULL);
    return 0;
}
