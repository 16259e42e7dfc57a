import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends a record for each key, a line of hexadecimal digits on standard input, and prints the partitions that the default partitioner chose. */
public final class Partitions {
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> properties = Map.of("bootstrap.servers", arguments[0], "acks", "all");
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
        Scanner lines = new Scanner(System.in)) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      while (lines.hasNextLine()) {
        byte[] key = HexFormat.of().parseHex(lines.nextLine());
        sent.add(producer.send(new ProducerRecord<>(arguments[1], key, new byte[0])));
      }
      for (Future<RecordMetadata> each : sent) {
        System.out.println(each.get().partition());
      }
    }
  }
}
