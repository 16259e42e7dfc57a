import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.util.UUID;

public class Example {
  enum Command implements ProtocolKeyword {
    RESERVE, CONFIRM;

    public byte[] getBytes() {
      return name().getBytes();
    }
  }

  public static void main(String[] args) {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "7379"));
    try (var client = RedisClient.create(RedisURI.create("127.0.0.1", port)); var connection = client.connect()) {
      var id = UUID.randomUUID().toString(); // kept with the order, so that a repeated call means the same units
      var request = new CommandArgs<>(StringCodec.UTF8).add("item:1001").add("42").add("ID").add(id);
      long left = connection.sync().dispatch(Command.RESERVE, new IntegerOutput<>(StringCodec.UTF8), request);
      if (left < 0) {
        System.out.println("refused: " + left); // -1 is sold out; the manual lists them all
        return;
      }
      System.out.println("reserved, " + left + " left");
      long confirmed = connection.sync().dispatch(Command.CONFIRM, new IntegerOutput<>(StringCodec.UTF8), request);
      System.out.println("confirmed: " + confirmed);
    }
  }
}
