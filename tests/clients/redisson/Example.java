import java.util.UUID;
import org.redisson.Redisson;
import org.redisson.client.codec.StringCodec;
import org.redisson.client.protocol.RedisStrictCommand;
import org.redisson.config.Config;

public class Example {
  public static void main(String[] args) {
    var config = new Config();
    config.useSingleServer().setAddress("redis://127.0.0.1:" + System.getenv().getOrDefault("PORT", "7379"));
    var redisson = (Redisson) Redisson.create(config);
    var executor = redisson.getCommandExecutor(); // RedissonClient itself has no way to send a command by name
    var reserve = new RedisStrictCommand<Long>("RESERVE");
    var confirm = new RedisStrictCommand<Long>("CONFIRM");
    var id = UUID.randomUUID().toString(); // kept with the order, so that a repeated call means the same units
    Object[] request = {"item:1001", "42", "ID", id};
    long left = executor.get(executor.<Long, Long>writeAsync("item:1001", StringCodec.INSTANCE, reserve, request));
    if (left < 0) {
      System.out.println("refused: " + left); // -1 is sold out; the manual lists them all
    } else {
      System.out.println("reserved, " + left + " left");
      long confirmed = executor.get(executor.<Long, Long>writeAsync("item:1001", StringCodec.INSTANCE, confirm, request));
      System.out.println("confirmed: " + confirmed);
    }
    redisson.shutdown();
  }
}
