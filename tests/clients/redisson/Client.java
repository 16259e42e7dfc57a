// A client of Redisson under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).

import java.util.List;
import java.util.Scanner;
import java.util.stream.Collectors;
import org.redisson.Redisson;
import org.redisson.api.RFuture;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.StringCodec;
import org.redisson.client.protocol.RedisStrictCommand;
import org.redisson.command.CommandBatchService;
import org.redisson.config.Config;

public class Client {
  static RedissonClient redisson;
  static boolean plain;

  static void say(String kind, Object text) {
    System.out.println(kind + " " + text);
  }

  /** RedissonClient only has scripts for this; the executor behind it sends any command. */
  static RFuture<Long> send(String name, List<String> words) {
    if (plain) {
      var script = "return redis.call('" + name + "', KEYS[1], unpack(ARGV))";
      List<Object> key = List.of(words.get(0));
      return redisson.getScript(StringCodec.INSTANCE).evalAsync(RScript.Mode.READ_WRITE, script,
          RScript.ReturnType.LONG, key, words.subList(1, words.size()).toArray());
    }
    var executor = ((Redisson) redisson).getCommandExecutor();
    return executor.writeAsync(words.get(0), StringCodec.INSTANCE, new RedisStrictCommand<Long>(name), words.toArray());
  }

  static Long await(RFuture<Long> reply) {
    return ((Redisson) redisson).getCommandExecutor().get(reply);
  }

  static Object subscribe(String channel) {
    redisson.getTopic(channel, StringCodec.INSTANCE).addListener(String.class, (from, notice) -> say("notice", notice));
    return "subscribed";
  }

  /** Without a batch the commands spread over the connections of the pool and have no order. */
  static Object pipeline(int count, String command, String item) {
    var batch = new CommandBatchService(((Redisson) redisson).getCommandExecutor());
    for (int user = 0; user < count; user++) {
      batch.writeAsync(item, StringCodec.INSTANCE, new RedisStrictCommand<Long>(command), item, String.valueOf(user));
    }
    return batch.execute().getResponses().stream().map(String::valueOf).collect(Collectors.joining(" "));
  }

  static Object answer(String name, List<String> words) {
    switch (name) {
      case "subscribe":
        return subscribe(words.get(0));
      case "pipeline":
        return pipeline(Integer.parseInt(words.get(0)), words.get(1), words.get(2));
      case "close":
        redisson.shutdown();
        return "closed";
      default:
        return await(send(name, words));
    }
  }

  public static void main(String[] args) {
    plain = args.length > 2;
    var config = new Config();
    config.useSingleServer().setAddress("redis://" + args[0] + ":" + args[1]);
    redisson = Redisson.create(config);
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
