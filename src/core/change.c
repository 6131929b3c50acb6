/* Changes a line-up while it runs. A set of changes gets the next generation number and a place in a small ring. At the
 * start of a run, a cycle takes over the sets that it has not seen yet, so that all its modules see one generation in
 * one run. Writers exclude each other by a lock that no cycle ever takes. */
#include <string.h>
#include <time.h>

#include "core/internal.h"

/* Puts the new build in place: its memory becomes the instance's, its pointers are written, its state copied if it may
 * be kept. */
static void swap_in(struct nm_instance *instance, const struct change_set *set)
{
    if (set->keep) {
        /* the old memory has the old parameters in it: the new build may have other defaults */
        memcpy(set->self, instance->self, set->module->size);
        for (uint32_t i = 0; i < nm_param_count(set->module); i++)
            nm_value_store(&set->module->params[i], &set->values[i], set->self);
    }
    *(struct nm **)set->self = &instance->nm;
    instance->self = set->self;
    instance->module = set->module;
    instance->birth = NULL; /* snapshots leave it out from here on */
    for (uint32_t i = 0; i < instance->n_ports; i++) {
        struct port *port = &instance->ports[i];
        port->row = &set->module->ports[i];
        if (!port->member) continue;
        port->member = (unsigned char *)instance->self + port->row->offset;
        port_bind(port);
    }
    if (set->keep && set->module->changed) set->module->changed(instance->self);
}

static void apply_set(struct nm_cycle *cycle, const struct change_set *set)
{
    struct nm_player *player = cycle->player;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct nm_change *change = &set->changes[i];
        struct nm_instance *instance = &player->instances[change->instance];
        if (instance->cycle == cycle)
            nm_value_store(&instance->module->params[change->param], &change->value, instance->self);
    }
    for (uint32_t i = 0; i < cycle->n_instances; i++) {
        struct nm_instance *instance = cycle->instances[i];
        bool touched = false;
        for (uint32_t k = 0; k < set->n; k++) touched |= &player->instances[set->changes[k].instance] == instance;
        if (touched && instance->module->changed) instance->module->changed(instance->self);
    }
    if (set->swap != NM_NONE && player->instances[set->swap].cycle == cycle)
        swap_in(&player->instances[set->swap], set);
}

void changes_apply(struct nm_cycle *cycle)
{
    uint64_t newest = atomic_load_explicit(&cycle->player->generation, memory_order_acquire);
    uint64_t mine = atomic_load_explicit(&cycle->generation, memory_order_relaxed);
    if (mine == newest) return;
    while (mine < newest) apply_set(cycle, &cycle->player->sets[++mine % CHANGE_SETS]);
    atomic_store_explicit(&cycle->generation, mine, memory_order_release);
}

/* The next free set; NULL with a sentence while a cycle still has to read the one that lies there. Lock held. */
static struct change_set *next_set(struct nm_player *player, struct nm_err *err)
{
    uint64_t next = atomic_load_explicit(&player->generation, memory_order_relaxed) + 1;
    for (uint32_t c = 0; c < player->n_all; c++) {
        const struct nm_cycle *cycle = player->cycles[c];
        if (!cycle->plan) continue;
        if (atomic_load_explicit(&cycle->generation, memory_order_acquire) + CHANGE_SETS <= next) {
            nm_fail(err, "cycle %s has not taken in the last %d changes; try again when it runs", cycle->name,
                    CHANGE_SETS);
            return NULL;
        }
    }
    struct change_set *set = &player->sets[next % CHANGE_SETS];
    set->n = 0;
    set->swap = NM_NONE;
    return set;
}

static uint64_t post(struct nm_player *player, const struct change_set *set)
{
    uint64_t generation = atomic_fetch_add_explicit(&player->generation, 1, memory_order_release) + 1;
    record_change(player, generation, set);
    return generation;
}

int64_t nm_player_set(struct nm_player *player, const struct nm_change *changes, uint32_t n, struct nm_err *err)
{
    if (n > player->most_changes) return nm_fail(err, "%u changes in one set, at most %u fit", n, player->most_changes);
    pthread_mutex_lock(&player->change_lock);
    struct change_set *set = next_set(player, err);
    int64_t generation = -1;
    if (set) {
        memcpy(set->changes, changes, n * sizeof *changes);
        set->n = n;
        for (uint32_t i = 0; i < n; i++) player->values[changes[i].instance][changes[i].param] = changes[i].value;
        generation = (int64_t)post(player, set);
    }
    pthread_mutex_unlock(&player->change_lock);
    return generation;
}

void nm_player_value(const struct nm_player *player, uint32_t instance, uint32_t param, struct nm_value *value)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&player->change_lock;
    pthread_mutex_lock(lock);
    *value = player->values[instance][param];
    pthread_mutex_unlock(lock);
}

const struct nm_module *nm_player_module(const struct nm_player *player, uint32_t instance)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&player->change_lock;
    pthread_mutex_lock(lock);
    const struct nm_module *module = player->instances[instance].module;
    pthread_mutex_unlock(lock);
    return module;
}

/* ---- another build of a module ---- */

static int same_ports(const struct nm_module *old, const struct nm_module *new, struct nm_err *err)
{
    for (uint32_t i = 0;; i++) {
        const struct nm_port *a = &old->ports[i], *b = &new->ports[i];
        if (!a->name && !b->name) return 0;
        if (!a->name || !b->name || strcmp(a->topic, b->topic) != 0 || a->kind != b->kind ||
            a->type->layout != b->type->layout || a->depth != b->depth ||
            (a->offset == UINT32_MAX) != (b->offset == UINT32_MAX))
            return nm_fail(err, "%s: the ports changed (at %s); restart the line-up to connect them", new->name,
                           b->name ? b->name : a->name);
    }
}

/* Values of the parameters that both builds have stay as they are; new ones get their defaults. */
static struct nm_value *carry_values(struct nm_player *player, uint32_t index, const struct nm_module *old,
                                     const struct nm_module *new)
{
    uint32_t n = nm_param_count(new);
    struct nm_value *values = nm_take_n(&player->arena, struct nm_value, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_param *param = &new->params[i];
        nm_value_default(param, &values[i]);
        int at = nm_param_find(old, param->name, NULL);
        char text[256];
        if (at < 0) continue;
        struct nm_value *had = &player->values[index][at];
        nm_value_print(&old->params[at], had, text, sizeof text);
        struct nm_value parsed = *had;
        if (had->layer != NM_LAYER_MODULE && nm_value_parse(param, text, &parsed, NULL) == 0) values[i] = parsed;
    }
    return values;
}

static void wait_for(const struct nm_cycle *cycle, uint64_t generation)
{
    const struct timespec nap = {.tv_nsec = 500000};
    while (atomic_load(&cycle->player->running) &&
           atomic_load_explicit(&cycle->generation, memory_order_acquire) < generation)
        nanosleep(&nap, NULL);
}

int nm_player_swap(struct nm_player *player, uint32_t index, const struct nm_module *module, struct nm_err *err)
{
    struct nm_instance *instance = &player->instances[index];
    pthread_mutex_lock(&player->change_lock);
    const struct nm_module *old = instance->module;
    struct change_set *set = same_ports(old, module, err) ? NULL : next_set(player, err);
    if (!set) {
        pthread_mutex_unlock(&player->change_lock);
        return -1;
    }
    bool keep = old->layout && old->layout == module->layout && old->size == module->size;
    void *old_self = instance->self, *self = nm_take(&player->arena, module->size);
    struct nm_value *values = carry_values(player, index, old, module);
    *(struct nm **)self = &instance->nm;
    for (uint32_t i = 0; i < nm_param_count(module); i++) nm_value_store(&module->params[i], &values[i], self);
    if (!keep && instance_start(instance, module, self, err) < 0) {
        pthread_mutex_unlock(&player->change_lock);
        return nm_fail(err, "%s: the new build refused to start; the old one goes on", module->name);
    }
    player->values[index] = values;
    *set = (struct change_set){
        .changes = set->changes, .swap = index, .module = module, .self = self, .values = values, .keep = keep};
    uint64_t generation = post(player, set);
    wait_for(instance->cycle, generation);
    if (!keep && old->close && instance->self != old_self) old->close(old_self);
    pthread_mutex_unlock(&player->change_lock);
    return keep;
}
