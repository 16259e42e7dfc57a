import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import java.util.UUID;
import java.util.stream.Stream;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

public class Example {
  static long send(StringRedisTemplate template, String command, String... words) {
    byte[][] arguments = Stream.of(words).map(String::getBytes).toArray(byte[][]::new);
    // The reply is an integer, which execute(command, arguments) cannot read on Lettuce; with an output it can.
    RedisCallback<Long> call = connection -> (Long) ((LettuceConnection) connection)
        .execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), arguments);
    return template.execute(call, true); // true: the connection itself, not a proxy
  }

  public static void main(String[] args) {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "7379"));
    var factory = new LettuceConnectionFactory("127.0.0.1", port);
    factory.afterPropertiesSet();
    factory.start();
    var template = new StringRedisTemplate(factory);
    var id = UUID.randomUUID().toString(); // kept with the order, so that a repeated call means the same units
    long left = send(template, "RESERVE", "item:1001", "42", "ID", id);
    if (left < 0) {
      System.out.println("refused: " + left); // -1 is sold out; the manual lists them all
    } else {
      System.out.println("reserved, " + left + " left");
      System.out.println("confirmed: " + send(template, "CONFIRM", "item:1001", "42", "ID", id));
    }
    factory.destroy();
  }
}
