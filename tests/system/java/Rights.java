// Gives a user of a Kafka rights, or takes them away: Rights SERVERS give|take USER KIND:NAME:OPERATION...
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

public class Rights {
    public static void main(String[] words) throws Exception {
        List<AclBinding> rights = new ArrayList<>();
        for (int i = 3; i < words.length; ++i) {
            String[] right = words[i].split(":");
            rights.add(new AclBinding(new ResourcePattern(ResourceType.valueOf(right[0]), right[1], PatternType.LITERAL),
                new AccessControlEntry("User:" + words[2], "*", AclOperation.valueOf(right[2]), AclPermissionType.ALLOW)));
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", words[0]))) {
            if (words[1].equals("give")) admin.createAcls(rights).all().get();
            else admin.deleteAcls(rights.stream().map(AclBinding::toFilter).toList()).all().get();
        }
    }
}
