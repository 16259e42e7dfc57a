import java.util.UUID;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.RedisClient;

public class Example {
  public static void main(String[] args) {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "7379"));
    try (var jedis = RedisClient.create("127.0.0.1", port)) {
      var id = UUID.randomUUID().toString(); // kept with the order, so that a repeated call means the same units
      var reserve = new CommandArguments("RESERVE"::getBytes).key("item:1001").add("42").add("ID").add(id);
      var left = (Long) jedis.executeCommand(reserve);
      if (left < 0) {
        System.out.println("refused: " + left); // -1 is sold out; the manual lists them all
        return;
      }
      System.out.println("reserved, " + left + " left");
      var confirm = new CommandArguments("CONFIRM"::getBytes).key("item:1001").add("42").add("ID").add(id);
      System.out.println("confirmed: " + jedis.executeCommand(confirm));
    }
  }
}
