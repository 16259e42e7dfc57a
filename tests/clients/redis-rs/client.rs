//! A client of redis-rs under the runner: a command a line on stdin, an answer a line on stdout
//! (tests/clients/README.md).

use redis::aio::ConnectionLike;
use redis::{Cmd, RedisResult, Value};
use std::io::BufRead;

fn text(reply: Value) -> String {
    match reply {
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn command(words: &[&str]) -> Cmd {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command
}

/// Notices come over a connection of their own, which the library does not bring back by itself.
async fn listen(client: redis::Client, channel: String) {
    loop {
        if let Ok(mut notices) = client.get_async_pubsub().await
            && notices.subscribe(&channel).await.is_ok()
        {
            use tokio_stream::StreamExt;
            let mut stream = notices.into_on_message();
            while let Some(notice) = stream.next().await {
                println!(
                    "notice {}",
                    notice.get_payload::<String>().unwrap_or_default()
                );
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

async fn pipeline(
    connection: &mut impl ConnectionLike,
    count: usize,
    name: &str,
    item: &str,
) -> RedisResult<String> {
    let mut commands = redis::pipe();
    for user in 0..count {
        commands.cmd(name).arg(item).arg(user);
    }
    let replies: Vec<i64> = commands.query_async(connection).await?;
    Ok(replies
        .iter()
        .map(i64::to_string)
        .collect::<Vec<_>>()
        .join(" "))
}

/// Answers the commands until the input ends or says close.
async fn serve(client: redis::Client, mut connection: impl ConnectionLike) {
    println!("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let reply = match words[..] {
            ["subscribe", channel] => {
                tokio::spawn(listen(client.clone(), channel.to_string()));
                Ok("subscribed".to_string())
            }
            ["pipeline", count, name, item] => {
                pipeline(&mut connection, count.parse().unwrap(), name, item).await
            }
            ["close"] => Ok("closed".to_string()),
            _ => connection
                .req_packed_command(&command(&words))
                .await
                .map(text),
        };
        match reply {
            Ok(reply) => println!("reply {reply}"),
            Err(error) => println!("error {error}"),
        }
        if words[0] == "close" {
            return;
        }
    }
}

#[tokio::main]
async fn main() -> RedisResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let client = redis::Client::open(format!("redis://{}:{}", arguments[1], arguments[2]))?;
    if arguments.len() > 3 {
        let connection = client.get_multiplexed_async_connection().await?;
        serve(client, connection).await;
    } else {
        let connection = client.get_connection_manager().await?; // connects again when it was lost
        serve(client, connection).await;
    }
    Ok(())
}
