// A client of Lettuce under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.stream.Collectors;

public class Client {
  static RedisClient client;
  static StatefulRedisConnection<String, String> connection;

  /** A command that Lettuce does not know by name. */
  record Command(String text) implements ProtocolKeyword {
    @Override
    public byte[] getBytes() {
      return text.getBytes();
    }

    @Override
    public String toString() {
      return text;
    }
  }

  static void say(String kind, Object text) {
    System.out.println(kind + " " + text);
  }

  static CommandArgs<String, String> arguments(List<String> words) {
    return new CommandArgs<>(StringCodec.UTF8).addValues(words);
  }

  static IntegerOutput<String, String> integer() {
    return new IntegerOutput<>(StringCodec.UTF8);
  }

  static Object subscribe(String channel) {
    var subscriber = client.connectPubSub();
    subscriber.addListener(new RedisPubSubAdapter<>() {
      @Override
      public void message(String from, String notice) {
        say("notice", notice);
      }
    });
    subscriber.sync().subscribe(channel);
    return "subscribed";
  }

  static Object pipeline(int count, String command, String item) {
    List<RedisFuture<Long>> replies = new ArrayList<>();
    connection.setAutoFlushCommands(false);
    for (int user = 0; user < count; user++) {
      var request = arguments(List.of(item, String.valueOf(user)));
      replies.add(connection.async().dispatch(new Command(command), integer(), request));
    }
    connection.flushCommands();
    connection.setAutoFlushCommands(true);
    return replies.stream().map(reply -> String.valueOf(reply.toCompletableFuture().join())).collect(Collectors.joining(" "));
  }

  static Object answer(String name, List<String> words) {
    switch (name) {
      case "subscribe":
        return subscribe(words.get(0));
      case "pipeline":
        return pipeline(Integer.parseInt(words.get(0)), words.get(1), words.get(2));
      case "close":
        client.shutdown();
        return "closed";
      default:
        return connection.sync().dispatch(new Command(name), integer(), arguments(words));
    }
  }

  public static void main(String[] args) {
    client = RedisClient.create(RedisURI.create(args[0], Integer.parseInt(args[1])));
    connection = client.connect();
    say("ready", "");
    for (var input = new Scanner(System.in); input.hasNextLine(); ) {
      var words = List.of(input.nextLine().split(" "));
      try {
        say("reply", answer(words.get(0), words.subList(1, words.size())));
      } catch (RedisException failure) {
        say("error", failure.getMessage());
      }
      if (words.get(0).equals("close")) {
        return;
      }
    }
  }
}
