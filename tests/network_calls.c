/*
 * Write a line for every call of a process and its children that begins to use a network: a name to look up, a socket
 * of an Internet family, a connection or a datagram to an Internet address. Loaded with LD_PRELOAD. The environment
 * variable NETWORK_CALLS names the file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *call, const char *detail) {
    const char *path = getenv("NETWORK_CALLS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", call, detail ? detail : "");
    if (write(file, line, length < (int)sizeof line ? length : (int)sizeof line - 1)) { /* one line, whole */ }
    close(file);
}

static int internet(int family) { return family == AF_INET || family == AF_INET6; }

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    note("getaddrinfo", node);
    return real(node, service, hints, found);
}

struct hostent *gethostbyname(const char *name) {
    struct hostent *(*real)(const char *) = dlsym(RTLD_NEXT, "gethostbyname");
    note("gethostbyname", name);
    return real(name);
}

int socket(int family, int kind, int protocol) {
    int (*real)(int, int, int) = dlsym(RTLD_NEXT, "socket");
    if (internet(family)) note("socket", family == AF_INET ? "IPv4" : "IPv6");
    return real(family, kind, protocol);
}

int connect(int file, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    if (address && internet(address->sa_family)) note("connect", "");
    return real(file, address, length);
}

ssize_t sendto(int file, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
    ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
    if (to && internet(to->sa_family)) note("sendto", "");
    return real(file, data, size, flags, to, length);
}
