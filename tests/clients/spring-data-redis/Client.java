// A client of Spring Data Redis (on Lettuce) under the runner: a command a line on stdin, an answer a line on stdout
// (tests/clients/README.md).

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import java.util.List;
import java.util.Scanner;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;

public class Client {
  static LettuceConnectionFactory factory;
  static StringRedisTemplate template;
  static RedisMessageListenerContainer container;
  static boolean plain;

  static void say(String kind, Object text) {
    System.out.println(kind + " " + text);
  }

  /** Without an output that takes integers, execute() on Lettuce understands strings only. */
  static Object send(LettuceConnection connection, String name, Stream<String> words) {
    byte[][] arguments = words.map(String::getBytes).toArray(byte[][]::new);
    return plain ? connection.execute(name, arguments)
        : connection.execute(name, new IntegerOutput<>(ByteArrayCodec.INSTANCE), arguments);
  }

  static Object subscribe(String channel) {
    container = new RedisMessageListenerContainer();
    container.setConnectionFactory(factory);
    container.addMessageListener((message, pattern) -> say("notice", new String(message.getBody())), ChannelTopic.of(channel));
    container.afterPropertiesSet();
    container.start();
    return "subscribed";
  }

  static Object pipeline(int count, String command, String item) {
    var connection = (LettuceConnection) factory.getConnection();
    connection.openPipeline();
    for (int user = 0; user < count; user++) {
      send(connection, command, Stream.of(item, String.valueOf(user)));
    }
    var replies = connection.closePipeline();
    connection.close();
    return replies.stream().map(String::valueOf).collect(Collectors.joining(" "));
  }

  static Object close() throws Exception {
    if (container != null) {
      container.destroy();
    }
    factory.destroy();
    return "closed";
  }

  static Object answer(String name, List<String> words) throws Exception {
    switch (name) {
      case "subscribe":
        return subscribe(words.get(0));
      case "pipeline":
        return pipeline(Integer.parseInt(words.get(0)), words.get(1), words.get(2));
      case "close":
        return close();
      default:
        // true: the connection itself, not a proxy that hides execute() with an output.
        return template.execute((RedisCallback<Object>) connection ->
            send((LettuceConnection) connection, name, words.stream()), true);
    }
  }

  public static void main(String[] args) throws Exception {
    plain = args.length > 2;
    factory = new LettuceConnectionFactory(args[0], Integer.parseInt(args[1]));
    factory.afterPropertiesSet();
    factory.start();
    template = new StringRedisTemplate(factory);
    say("ready", template.execute((RedisCallback<String>) connection -> connection.ping()));
    for (var input = new Scanner(System.in); input.hasNextLine(); ) {
      var words = List.of(input.nextLine().split(" "));
      try {
        say("reply", answer(words.get(0), words.subList(1, words.size())));
      } catch (DataAccessException | UnsupportedOperationException failure) {
        say("error", failure.getMessage());
      }
      if (words.get(0).equals("close")) {
        return;
      }
    }
  }
}
