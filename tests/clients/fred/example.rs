use fred::prelude::*;
use fred::types::{ClusterHash, CustomCommand};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let port = std::env::var("PORT").unwrap_or("7379".into());
    let mut builder = Builder::from_config(Config::from_url(&format!("redis://127.0.0.1:{port}"))?);
    builder.set_policy(ReconnectPolicy::new_constant(0, 100)); // without one a lost connection stays lost
    let client = builder.build()?;
    client.init().await?;
    let command = |name| CustomCommand::new(name, ClusterHash::FirstKey, false);
    let id = Uuid::new_v4().to_string(); // kept with the order, so that a repeated call means the same units
    let request = vec!["item:1001", "42", "ID", &id];
    let left: i64 = client.custom(command("RESERVE"), request.clone()).await?;
    if left < 0 {
        println!("refused: {left}"); // -1 is sold out; the manual lists them all
    } else {
        println!("reserved, {left} left");
        let confirmed: i64 = client.custom(command("CONFIRM"), request).await?;
        println!("confirmed: {confirmed}");
    }
    client.quit().await
}
