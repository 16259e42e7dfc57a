import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads orders in a consumer group as services with Spring do: the header __TypeId__ names the class, Jackson fills what the class has and
 * passes over the rest. Prints "orderId itemId userId" of so many.
 */
public final class Orders {
  /** What a service that takes orders has known all along. */
  public static final class OrderPlaced {
    public UUID orderId;
    public long itemId;
    public long userId;
  }

  private static final Map<String, Class<OrderPlaced>> TYPES = Map.of("shop.OrderPlaced", OrderPlaced.class);
  private static final Duration WAIT = Duration.ofSeconds(60);

  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    Map<String, Object> properties =
        Map.of("bootstrap.servers", arguments[0], "group.id", "orders", "auto.offset.reset", "earliest", "isolation.level", "read_committed");
    try (KafkaConsumer<String, byte[]> consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(arguments[1]));
      int left = Integer.parseInt(arguments[2]);
      long deadline = System.nanoTime() + WAIT.toNanos();
      while (left > 0 && System.nanoTime() < deadline) {
        for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          String type = new String(record.headers().lastHeader("__TypeId__").value(), StandardCharsets.UTF_8);
          OrderPlaced order = mapper.readValue(record.value(), TYPES.get(type));
          System.out.println(order.orderId + " " + order.itemId + " " + order.userId);
          --left;
        }
      }
      System.exit(left == 0 ? 0 : 1);
    }
  }
}
