// A client of hiredis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kWordsMax = 16, kRetryMs = 100, kLineMax = 1024 };

static redisContext* client;
static redisContext* subscriber;
static char channel[kLineMax];

static void tell(redisContext* context, const redisReply* reply) {
  if (reply == NULL) {
    printf("error %s\n", context->errstr);
    redisReconnect(context);  // hiredis leaves it to the caller
  } else if (reply->type == REDIS_REPLY_INTEGER) {
    printf("reply %lld\n", reply->integer);
  } else {
    printf("%s %s\n", reply->type == REDIS_REPLY_ERROR ? "error" : "reply", reply->str);
  }
}

static void subscribe(void) { freeReplyObject(redisCommand(subscriber, "SUBSCRIBE %s", channel)); }

static void pipeline(int count, const char* command, const char* item) {
  for (int user = 0; user < count; ++user) {
    redisAppendCommand(client, "%s %s %d", command, item, user);
  }
  printf("reply");
  for (int user = 0; user < count; ++user) {
    redisReply* reply = NULL;
    if (redisGetReply(client, (void**)&reply) != REDIS_OK) break;
    printf(" %lld", reply->integer);
    freeReplyObject(reply);
  }
  printf("\n");
}

// What came with an earlier reply lies in the reader already.
static void hear(void) {
  redisReply* notice = NULL;
  while (redisGetReplyFromReader(subscriber, (void**)&notice) == REDIS_OK && notice != NULL) {
    if (strcmp(notice->element[0]->str, "message") == 0) printf("notice %s\n", notice->element[2]->str);
    freeReplyObject(notice);
  }
}

static void answer(char* line, int port, const char* host) {
  const char* words[kWordsMax];
  int count = 0;
  for (char* word = strtok(line, " \n"); word != NULL && count < kWordsMax; word = strtok(NULL, " \n")) {
    words[count++] = word;
  }
  if (count == 2 && strcmp(words[0], "subscribe") == 0) {
    snprintf(channel, sizeof channel, "%s", words[1]);
    subscriber = redisConnect(host, port);
    subscribe();
    printf("reply subscribed\n");
  } else if (count == 4 && strcmp(words[0], "pipeline") == 0) {
    pipeline(atoi(words[1]), words[2], words[3]);
  } else if (count == 1 && strcmp(words[0], "close") == 0) {
    redisFree(client);
    if (subscriber != NULL) redisFree(subscriber);
    printf("reply closed\n");
    exit(0);
  } else if (count > 0) {
    redisReply* reply = redisCommandArgv(client, count, words, NULL);
    tell(client, reply);
    freeReplyObject(reply);
  }
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const char* host = arguments[1];
  const int port = atoi(arguments[2]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0);  // so that poll() sees every line
  client = redisConnect(host, port);
  if (client == NULL || client->err != 0) {
    printf("event %s\n", client == NULL ? "no memory" : client->errstr);
    return 1;
  }
  printf("ready\n");
  for (char line[kLineMax];;) {
    struct pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {-1, POLLIN, 0}};
    if (subscriber != NULL && subscriber->err != 0 && redisReconnect(subscriber) == REDIS_OK) subscribe();
    if (subscriber != NULL && subscriber->err == 0) ready[1].fd = subscriber->fd;
    poll(ready, 2, kRetryMs);
    if (ready[1].revents != 0) redisBufferRead(subscriber);
    if (subscriber != NULL) hear();
    if (ready[0].revents != 0) {
      if (fgets(line, sizeof line, stdin) == NULL) return 0;
      answer(line, port, host);
    }
  }
}
