#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* port = getenv("PORT");
  redisContext* client = redisConnect("127.0.0.1", port ? atoi(port) : 7379);
  if (client == NULL || client->err) return 1;
  const char* id =
      "019343c7-5a2e-7b6f-9d21-6f0c3c1f7e10";  // a new UUID for every order: repeating it means the same units
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
