#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* port = getenv("PORT");
  redisContext* client = redisConnect("127.0.0.1", port ? atoi(port) : 7379);
  if (client == NULL || client->err) return 1;
  char id[37];  // kept with the order, so that a repeated call means the same units
  FILE* uuids = fopen("/proc/sys/kernel/random/uuid", "r");
  if (uuids == NULL || fscanf(uuids, "%36s", id) != 1) return 1;
  fclose(uuids);
  redisReply* left = redisCommand(client, "RESERVE %s %s ID %s", "item:1001", "42", id);
  if (left == NULL || left->type != REDIS_REPLY_INTEGER) return 1;
  if (left->integer < 0) {
    printf("refused: %lld\n", left->integer);  // -1 is sold out; the manual lists them all
  } else {
    printf("reserved, %lld left\n", left->integer);
    redisReply* confirmed = redisCommand(client, "CONFIRM %s %s ID %s", "item:1001", "42", id);
    if (confirmed != NULL) printf("confirmed: %lld\n", confirmed->integer);
    freeReplyObject(confirmed);
  }
  freeReplyObject(left);
  redisFree(client);
  return 0;
}
