//! A client of fred under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).

use fred::prelude::*;
use fred::types::{ClusterHash, CustomCommand};
use std::io::BufRead;

fn command(name: &str) -> CustomCommand {
    CustomCommand::new(name, ClusterHash::FirstKey, false)
}

async fn subscribe(builder: &Builder, channel: &str) -> Result<String, Error> {
    let subscriber = builder.build_subscriber_client()?;
    subscriber.on_message(|notice| async move {
        println!("notice {}", notice.value.convert::<String>()?);
        Ok(())
    });
    subscriber.init().await?;
    subscriber.manage_subscriptions(); // subscribes again after a lost connection
    subscriber.subscribe(channel).await?;
    Ok("subscribed".into())
}

async fn pipeline(client: &Client, count: usize, name: &str, item: &str) -> Result<String, Error> {
    let pipeline = client.pipeline();
    for user in 0..count {
        let _: () = pipeline
            .custom(command(name), vec![item.to_string(), user.to_string()])
            .await?;
    }
    let replies: Vec<i64> = pipeline.all().await?;
    Ok(replies
        .iter()
        .map(i64::to_string)
        .collect::<Vec<_>>()
        .join(" "))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut builder = Builder::from_config(Config::from_url(&format!(
        "redis://{}:{}",
        arguments[1], arguments[2]
    ))?);
    if arguments.len() == 3 {
        builder.set_policy(ReconnectPolicy::new_constant(0, 100)); // without one a lost connection stays lost
    }
    let client = builder.build()?;
    client.on_error(|(error, _)| async move {
        println!("event {error}");
        Ok(())
    });
    client.init().await?;
    println!("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let reply = match words[..] {
            ["subscribe", channel] => subscribe(&builder, channel).await,
            ["pipeline", count, name, item] => {
                pipeline(&client, count.parse().unwrap(), name, item).await
            }
            ["close"] => client.quit().await.map(|()| "closed".to_string()),
            _ => client.custom(command(words[0]), words[1..].to_vec()).await,
        };
        match reply {
            Ok(reply) => println!("reply {reply}"),
            Err(error) => println!("error {error}"),
        }
        if words[0] == "close" {
            break;
        }
    }
    Ok(())
}
