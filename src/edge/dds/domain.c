#include "edge/dds/domain.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { LAST_DOMAIN = 232 }; /* beyond it the ports do not fit into 16 bits */

/* Cyclone's domains are global, so their users are counted globally. */
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

/* A sample of more bytes is none of ours, and is not even put together. */
#define LIMITS "<Internal><MaxSampleSize>64 MiB</MaxSampleSize></Internal>"

static const char anywhere[] = "<CycloneDDS><Domain id=\"any\">" LIMITS "</Domain></CycloneDDS>";
/* The peer is an address, not a name: a bare machine may have no entry for localhost. */
static const char loopback[] = "<CycloneDDS><Domain id=\"any\">" LIMITS "<General>"
                               "<Interfaces><NetworkInterface name=\"lo\"/></Interfaces>"
                               "<AllowMulticast>false</AllowMulticast></General>"
                               "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
                               "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
                               "<Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>"
                               "</Domain></CycloneDDS>";

int64_t nm_domain_usual(struct nm_err *err)
{
    const char *text = getenv("ROS_DOMAIN_ID");
    char *end;
    if (!text || !*text) return 0;
    long domain = strtol(text, &end, 10);
    if (*end || domain < 0 || domain > LAST_DOMAIN)
        return nm_fail(err, "ROS_DOMAIN_ID is '%.40s': a number from 0 to %d is needed", text, LAST_DOMAIN);
    return domain;
}

static dds_entity_t open_domain(uint32_t domain, bool network)
{
    const char *more = getenv("CYCLONEDDS_URI");
    const char *ours = network ? anywhere : loopback;
    char *config = NULL;
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
        int fd = atoi(entry->d_name); /* "." and ".." are 0 for it, which is no socket of the domain either */
        if (is_open_to_all(fd, domain)) bad = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface, sizeof interface);
    }
    int why = errno;
    if (folder) closedir(folder);
    if (!bad) return 0;
    return nm_fail(err, "DDS domain %u: cannot be kept on this machine: %s; Linux 5.7 or newer is needed", domain,
                   strerror(why));
}

dds_entity_t nm_domain_join(uint32_t domain, bool network, struct nm_err *err)
{
    static const char enclave[] = "enclave=/;";
    if (domain > LAST_DOMAIN) return nm_fail(err, "DDS domain %u: domains go from 0 to %d", domain, LAST_DOMAIN);
    pthread_mutex_lock(&domains.lock);
    dds_entity_t participant = 0;
    if (!domains.at[domain].users) {
        dds_entity_t entity = open_domain(domain, network);
        domains.at[domain].entity = entity;
        /* one that somebody else in this process made is shared, and not ours to delete */
        if (entity < 0 && entity != DDS_RETCODE_PRECONDITION_NOT_MET) participant = entity;
        if (entity > 0 && !network && shut_out_others(domain, err)) participant = DDS_RETCODE_ERROR;
        dds_set_log_sink(take_complaint, NULL); /* from now on: a wrong CYCLONEDDS_URI was printed above */
    }
    if (participant == 0) {
        dds_qos_t *qos = dds_create_qos();
        dds_qset_userdata(qos, enclave, sizeof enclave - 1);
        participant = dds_create_participant(domain, qos, NULL);
        dds_delete_qos(qos);
    }
    if (participant >= 0) {
        domains.at[domain].users++;
    } else {
        nm_fail(err, "DDS domain %u: cannot be joined: %s%s", domain, dds_strretcode(participant),
                network ? "; is there a network, and is CYCLONEDDS_URI right?"
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
