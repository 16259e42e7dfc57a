// A client of Jedis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).

import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisException;

public class Client {
  static RedisClient jedis;

  static void say(String kind, Object text) {
    System.out.println(kind + " " + text);
  }

  static CommandArguments arguments(String name, String... words) {
    var arguments = new CommandArguments(name::getBytes);
    List.of(words).forEach(arguments::add);
    return arguments;
  }

  /** Until the connection is lost. */
  static void listen(String channel, JedisPubSub listener) {
    try {
      jedis.subscribe(listener, channel);
    } catch (JedisException lost) {
      say("event", lost.getMessage());
    }
  }

  static Thread background(Runnable work) {
    var thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }

  static Object subscribe(String channel) {
    var listener = new JedisPubSub() {
      @Override
      public void onMessage(String from, String notice) {
        say("notice", notice);
      }
    };
    // Jedis does not subscribe again by itself: this does, 100 ms after each time that it ended.
    Executors.newSingleThreadScheduledExecutor(Client::background)
        .scheduleWithFixedDelay(() -> listen(channel, listener), 0, 100, TimeUnit.MILLISECONDS);
    return "subscribed";
  }

  static Object pipeline(int count, String command, String item) {
    List<Response<Object>> replies = new ArrayList<>();
    try (var pipeline = jedis.pipelined()) {
      for (int user = 0; user < count; user++) {
        replies.add(pipeline.sendCommand(arguments(command, item, String.valueOf(user))));
      }
      pipeline.sync();
    }
    return replies.stream().map(reply -> String.valueOf(reply.get())).collect(Collectors.joining(" "));
  }

  static Object answer(String name, String[] words) {
    switch (name) {
      case "subscribe":
        return subscribe(words[0]);
      case "pipeline":
        return pipeline(Integer.parseInt(words[0]), words[1], words[2]);
      case "close":
        jedis.close();
        return "closed";
      default:
        return jedis.executeCommand(arguments(name, words));
    }
  }

  public static void main(String[] args) {
    jedis = RedisClient.create(args[0], Integer.parseInt(args[1]));
    jedis.ping();
    say("ready", "");
    for (var input = new Scanner(System.in); input.hasNextLine(); ) {
      String[] line = input.nextLine().split(" ", 2);
      try {
        say("reply", answer(line[0], line.length > 1 ? line[1].split(" ") : new String[0]));
      } catch (JedisException failure) {
        say("error", failure.getMessage());
      }
      if (line[0].equals("close")) {
        return;
      }
    }
  }
}
