use redis::RedisResult;
use uuid::Uuid;

#[tokio::main]
async fn main() -> RedisResult<()> {
    let port = std::env::var("PORT").unwrap_or("7379".into());
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connection = client.get_connection_manager().await?; // connects again when it was lost
    let id = Uuid::new_v4().to_string(); // kept with the order, so that a repeated call means the same units
    let request = ["item:1001", "42", "ID", &id];
    let left: i64 = redis::cmd("RESERVE")
        .arg(&request)
        .query_async(&mut connection)
        .await?;
    if left < 0 {
        println!("refused: {left}"); // -1 is sold out; the manual lists them all
        return Ok(());
    }
    println!("reserved, {left} left");
    let confirmed: i64 = redis::cmd("CONFIRM")
        .arg(&request)
        .query_async(&mut connection)
        .await?;
    println!("confirmed: {confirmed}");
    Ok(())
}
