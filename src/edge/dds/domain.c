#include "edge/dds/domain.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LAST_DOMAIN = 232 }; /* the ports of higher domains do not fit into 16 bits */

/* Domains of Cyclone are global, so their users are counted globally. */
static struct {
    pthread_mutex_t lock;
    struct {
        dds_entity_t entity;
        uint32_t users;
    } at[LAST_DOMAIN + 1];
} domains = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    uint64_t n;
    char text[256];
} complaints = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_complaint(void *user, const dds_log_data_t *data)
{
    (void)user;
    size_t n = strcspn(data->message, "<\n"); /* bytes of packets follow in <> */
    while (n && data->message[n - 1] == ' ') n--;
    pthread_mutex_lock(&complaints.lock);
    complaints.n++;
    snprintf(complaints.text, sizeof complaints.text, "%.*s", (int)n, data->message);
    pthread_mutex_unlock(&complaints.lock);
}

uint64_t nm_domain_complaints(char *to, size_t size)
{
    pthread_mutex_lock(&complaints.lock);
    uint64_t n = complaints.n;
    snprintf(to, size, "%s", complaints.text);
    pthread_mutex_unlock(&complaints.lock);
    return n;
}

/* A larger sample cannot be ours, so Cyclone does not assemble it. */
#define LIMITS    "<Internal><MaxSampleSize>64 MiB</MaxSampleSize></Internal>"
#define LOOPBACK  "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces>" NO_CAST "</General>"
#define UNICAST   "<General>" NO_CAST "</General>"
#define NO_CAST   "<AllowMulticast>false</AllowMulticast>"
#define THIS_HOST "<Peer address=\"127.0.0.1\"/>" /* not every machine knows the name localhost */
/* Peers that know our address look at the ports of the first participants of a machine, so ours uses one of these. */
#define NUMBERED "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"

int64_t nm_domain_usual(struct nm_err *err)
{
    const char *text = getenv("ROS_DOMAIN_ID");
    char *end;
    if (!text || !*text) return 0;
    long domain = strtol(text, &end, 10);
    if (*end || domain < 0 || domain > LAST_DOMAIN)
        return nm_fail(err, "ROS_DOMAIN_ID is '%.40s', but must be a number from 0 to %d", text, LAST_DOMAIN);
    return domain;
}

/* Where ROS 2 looks for others. */
enum range { SUBNET, LOCALHOST, OFF, SYSTEM_DEFAULT, ONLY_THIS_MACHINE };

static int range_of_ros(struct nm_err *err)
{
    static const char *const words[] = {
        [SUBNET] = "SUBNET", [LOCALHOST] = "LOCALHOST", [OFF] = "OFF", [SYSTEM_DEFAULT] = "SYSTEM_DEFAULT"};
    const char *range = getenv("ROS_AUTOMATIC_DISCOVERY_RANGE");
    if (!range || !*range) return SUBNET;
    for (int i = 0; i <= SYSTEM_DEFAULT; i++)
        if (!strcmp(range, words[i])) return i;
    return nm_fail(
        err, "ROS_AUTOMATIC_DISCOVERY_RANGE is '%.40s', but must be SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT", range);
}

/* ROS_STATIC_PEERS, "10.0.0.2;striker", as peers of Cyclone; -1 with a sentence. */
static int static_peers(char *to, size_t size, struct nm_err *err)
{
    const char *at = getenv("ROS_STATIC_PEERS");
    size_t used = 0;
    *to = '\0';
    for (; at && *at; at += strspn(at, "; ")) {
        size_t n = strcspn(at, "; ");
        for (size_t i = 0; i < n; i++)
            if (!isalnum((unsigned char)at[i]) && !strchr(".:-_[]", at[i]))
                return nm_fail(err, "ROS_STATIC_PEERS: '%.*s' is not the address of a machine", (int)(n < 80 ? n : 80),
                               at);
        if (n) used += (size_t)snprintf(to + used, size - used, "<Peer address=\"%.*s\"/>", (int)n, at);
        if (used >= size) return nm_fail(err, "ROS_STATIC_PEERS names too many machines");
        at += n;
    }
    return 0;
}

/* The configuration of Cyclone, without CYCLONEDDS_URI. Without a network it is what ROS 2 calls LOCALHOST, except that
 * the interface is the loopback itself. */
static int configure(unsigned how, char *to, size_t size, struct nm_err *err)
{
    const char *limits = how & NM_DOMAIN_ANY_SIZE ? "" : LIMITS, *general = "";
    char peers[4096] = "", discovery[4600];
    int range = how & NM_DOMAIN_NETWORK ? range_of_ros(err) : ONLY_THIS_MACHINE;
    if (range < 0 || ((range == SUBNET || range == LOCALHOST) && static_peers(peers, sizeof peers, err))) return -1;
    if (range == ONLY_THIS_MACHINE) general = LOOPBACK;
    if (range == LOCALHOST) general = UNICAST;
    snprintf(discovery, sizeof discovery, NUMBERED "<Peers>%s%s</Peers>",
             range == ONLY_THIS_MACHINE || range == LOCALHOST ? THIS_HOST : "", peers);
    if (range == SUBNET && !*peers) snprintf(discovery, sizeof discovery, NUMBERED);
    if (range == SYSTEM_DEFAULT) *discovery = '\0';
    if (range == OFF) /* a tag that nobody else has */
        snprintf(discovery, sizeof discovery, "<Tag>nutmeg-%d-%lld</Tag>", (int)getpid(), (long long)dds_time());
    snprintf(to, size, "<CycloneDDS><Domain id=\"any\">%s%s<Discovery>%s</Discovery></Domain></CycloneDDS>", limits,
             general, discovery);
    return 0;
}

static dds_entity_t open_domain(uint32_t domain, unsigned how, struct nm_err *err)
{
    const char *more = getenv("CYCLONEDDS_URI");
    char ours[6000], *config = NULL;
    if (configure(how, ours, sizeof ours, err)) return DDS_RETCODE_BAD_PARAMETER;
    if (!more) more = "";
    if (asprintf(&config, "%s%s%s", ours, *more ? "," : "", more) < 0) return DDS_RETCODE_OUT_OF_RESOURCES;
    dds_entity_t entity = dds_create_domain(domain, config);
    free(config);
    return entity;
}

/* Whether a descriptor is a UDP socket of this domain that takes packets from every interface. Each domain has 250
 * ports from 7400 on (RTPS 2.3, 9.6.1.1). */
static bool is_open_to_all(int fd, uint32_t domain)
{
    enum { FIRST_PORT = 7400, PORTS = 250 };
    struct sockaddr_in at = {0};
    int kind = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &(socklen_t){sizeof kind}) || kind != SOCK_DGRAM) return false;
    if (getsockname(fd, (struct sockaddr *)&at, &(socklen_t){sizeof at}) || at.sin_family != AF_INET) return false;
    uint32_t port = ntohs(at.sin_port), first = FIRST_PORT + PORTS * domain;
    return at.sin_addr.s_addr == htonl(INADDR_ANY) && port >= first && port < first + PORTS;
}

/* Cyclone uses the loopback interface only, but its sockets would still take packets that others send to any address of
 * this machine. So they are bound to the interface. */
static int shut_out_others(uint32_t domain, struct nm_err *err)
{
    static const char interface[] = "lo";
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int bad = folder ? 0 : -1;
    while (!bad && (entry = readdir(folder))) {
        int fd = atoi(entry->d_name); /* "." and ".." give 0, which is not a socket of the domain either */
        if (is_open_to_all(fd, domain)) bad = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, sizeof interface);
    }
    int why = errno;
    if (folder) closedir(folder);
    if (!bad) return 0;
    return nm_fail(err, "DDS domain %u: it cannot be limited to this machine: %s; this needs Linux 5.7 or newer",
                   domain, strerror(why));
}

dds_entity_t nm_domain_join(uint32_t domain, unsigned how, struct nm_err *err)
{
    const char *only = getenv("ROS_LOCALHOST_ONLY"); /* of ROS 2 up to Humble; it has priority if it is set */
    if (only && !strcmp(only, "1")) how &= ~(unsigned)NM_DOMAIN_NETWORK;
    bool network = how & NM_DOMAIN_NETWORK;
    static const char enclave[] = "enclave=/;";
    if (domain > LAST_DOMAIN) return nm_fail(err, "DDS domain %u: domains go from 0 to %d", domain, LAST_DOMAIN);
    pthread_mutex_lock(&domains.lock);
    dds_entity_t participant = 0;
    if (!domains.at[domain].users) {
        dds_entity_t entity = open_domain(domain, how, err);
        domains.at[domain].entity = entity;
        /* a domain that was made elsewhere in this process is shared, and we do not delete it */
        if (entity < 0 && entity != DDS_RETCODE_PRECONDITION_NOT_MET) participant = entity;
        if (entity > 0 && !network && shut_out_others(domain, err)) participant = DDS_RETCODE_ERROR;
        dds_set_log_sink(take_complaint, NULL); /* set now, so that faults in CYCLONEDDS_URI were still printed above */
    }
    if (participant == 0) {
        dds_qos_t *qos = dds_create_qos();
        dds_qset_userdata(qos, enclave, sizeof enclave - 1);
        participant = dds_create_participant(domain, qos, NULL);
        dds_delete_qos(qos);
    }
    if (participant >= 0) {
        domains.at[domain].users++;
    } else if (participant == DDS_RETCODE_BAD_PARAMETER && err && err->n) {
        /* the sentence is there */
    } else {
        nm_fail(err, "DDS domain %u: it cannot be joined: %s%s", domain, dds_strretcode(participant),
                network ? "; is there a network, more than 32 participants, or is CYCLONEDDS_URI wrong?"
                        : "; more than 32 participants, or is CYCLONEDDS_URI wrong?");
        if (!domains.at[domain].users && domains.at[domain].entity > 0) dds_delete(domains.at[domain].entity);
    }
    pthread_mutex_unlock(&domains.lock);
    return participant;
}

void nm_domain_leave(uint32_t domain, dds_entity_t participant)
{
    if (participant <= 0) return;
    pthread_mutex_lock(&domains.lock);
    dds_delete(participant);
    if (!--domains.at[domain].users && domains.at[domain].entity > 0) dds_delete(domains.at[domain].entity);
    pthread_mutex_unlock(&domains.lock);
}
