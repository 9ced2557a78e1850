//! Fencing nodes, and giving space back.

use drivebay_sdk::fence_clients::GetFenceClientsRequest;
use drivebay_sdk::fencing::{FenceRequest, ListFencesRequest};
use drivebay_sdk::{ErrorCode, Result, node_reclaim_space, reclaim_space};

use super::requests::*;
use super::sites::{contents, image, small, write};
use super::{Pool, World};

fn networks(cidrs: &[&str]) -> FenceRequest {
    FenceRequest {
        parameters: Vec::new(),
        secrets: Vec::new(),
        cidrs: cidrs.iter().map(|text| (*text).to_owned()).collect(),
    }
}

fn fence(world: &World, cidrs: &[&str]) -> Result<()> {
    world.call(|backend| backend.fence(&networks(cidrs)))
}

fn unfence(world: &World, cidrs: &[&str]) -> Result<()> {
    world.call(|backend| backend.unfence(&networks(cidrs)))
}

fn fences(world: &World) -> Vec<String> {
    let request = ListFencesRequest { parameters: Vec::new(), secrets: Vec::new() };
    world.call(|backend| backend.list_fences(&request)).unwrap()
}

fn node(pool: &std::rc::Rc<Pool>, id: &str, addresses: &str) -> World {
    let world = World::on(pool, id);
    world.settings.borrow_mut().push(("addresses".to_owned(), addresses.to_owned()));
    world.settings.borrow_mut().push(("nodes".to_owned(), "node-of-one,node-of-two".to_owned()));
    world.recover().unwrap();
    world
}

#[test]
fn a_fenced_node_gets_nothing_new() {
    let pool = Pool::new();
    let (one, two) = (node(&pool, "one", "10.0.0.1, fd00::1"), node(&pool, "two", "10.0.1.1"));
    let id = one.create(&small("v")).unwrap().volume_id;
    fence(&one, &["10.0.1.0/24"]).unwrap();
    fence(&one, &["10.0.1.0/24", "10.0.1.99/24"]).unwrap();
    assert_eq!(fences(&two), ["10.0.1.0/24"]);
    // The other process on the pool obeys, and so does the controller for it.
    let refused = two.stage(&id, mount()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(refused.message.contains("node-of-two") && refused.message.contains("10.0.1.0/24"), "{}", refused.message);
    let attach_to = |node: &str| one.call(|backend| backend.attach_volume(&attach(&id, node, mount())));
    assert_eq!(attach_to("node-of-two").unwrap_err().code, ErrorCode::FailedPrecondition);
    attach_to("node-of-one").unwrap();
    one.stage(&id, mount()).unwrap();
    fence(&one, &["fd00::/8"]).unwrap();
    assert_eq!(one.publish(&id, "/pods/1", mount()).unwrap_err().code, ErrorCode::FailedPrecondition);
    unfence(&one, &["fd00::/8", "192.168.0.0/16"]).unwrap();
    one.publish(&id, "/pods/1", mount()).unwrap();
    unfence(&one, &["10.0.1.0/24"]).unwrap();
    assert!(fences(&one).is_empty());
    assert_eq!(fence(&one, &["10.0.0.0/40"]).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn clients_are_the_nodes_with_addresses() {
    let pool = Pool::new();
    let (one, _two) = (node(&pool, "one", "10.0.0.1, fd00::1"), node(&pool, "two", "10.0.1.1"));
    World::on(&pool, "nameless").recover().unwrap();
    let request = GetFenceClientsRequest { parameters: Vec::new(), secrets: Vec::new() };
    let clients = one.call(|backend| backend.get_fence_clients(&request)).unwrap();
    let known: Vec<(&str, usize)> = clients.iter().map(|client| (client.id.as_str(), client.addresses.len())).collect();
    assert_eq!(known, [("node-of-one", 2), ("node-of-two", 1)]);
    assert_eq!(clients[0].addresses, ["10.0.0.1/32", "fd00::1/128"]);
}

#[test]
fn what_cannot_be_read_lets_nobody_in() {
    let world = node(&Pool::new(), "one", "10.0.0.1");
    let id = world.create(&small("v")).unwrap().volume_id;
    fence(&world, &["10.9.0.0/16"]).unwrap();
    std::fs::write(format!("{}/fences.json", world.pool.path()), "nonsense").unwrap();
    assert_eq!(world.stage(&id, mount()).unwrap_err().code, ErrorCode::FailedPrecondition);
}

fn reclaim(world: &World, id: &str) -> Result<(u64, u64)> {
    let request =
        reclaim_space::ReclaimSpaceRequest { volume_id: id.to_owned(), parameters: Vec::new(), secrets: Vec::new() };
    let usage = world.call(|backend| backend.reclaim_space(&request))?;
    Ok((usage.pre_usage.unwrap(), usage.post_usage.unwrap()))
}

#[test]
fn blocks_of_zeros_become_holes() {
    let world = World::new();
    let id = world.create(&small("v")).unwrap().volume_id;
    write(&world, &id, 300_000, b"not zero");
    let before = contents(&world, &id);
    world.jobs.filled.borrow_mut().insert(image(&world, &id));
    let (pre, post) = reclaim(&world, &id).unwrap();
    assert_eq!(pre, MIB);
    assert!(post <= 3 * 65_536, "{post}");
    assert_eq!(contents(&world, &id), before);
    assert_eq!(reclaim(&world, &id).unwrap(), (post, post));
    assert!(!world.pool.files().iter().any(|file| file.starts_with("temporary/") && file.matches('/').count() > 1));
}

#[test]
fn what_is_mounted_is_trimmed_where_it_is_mounted() {
    let world = World::new();
    let id = world.create(&small("v")).unwrap().volume_id;
    world.stage(&id, mount()).unwrap();
    reclaim(&world, &id).unwrap();
    let on_node = |path: &str| {
        let request = node_reclaim_space::ReclaimSpaceRequest {
            volume_id: id.clone(),
            volume_path: None,
            staging_target_path: Some(path.to_owned()),
            volume_capability: None,
            secrets: Vec::new(),
        };
        world.call(|backend| backend.reclaim_on_node(&request))
    };
    on_node(&format!("/staging/{id}")).unwrap();
    assert_eq!(*world.devices.history.borrow(), [format!("trim {id}"), format!("trim {id}")]);
    assert_eq!(on_node("/elsewhere").unwrap_err().code, ErrorCode::NotFound);
    world.unstage(&id).unwrap();
    assert_eq!(on_node(&format!("/staging/{id}")).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn what_has_nothing_to_give_back_says_so_for_good() {
    let world = World::new();
    let mut full = small("full");
    full.mutable_parameters = pairs(&[("reserve", "full")]);
    let full = world.create(&full).unwrap().volume_id;
    let directory = world.create(&create_directory("d")).unwrap().volume_id;
    for id in [full, directory] {
        assert_eq!(reclaim(&world, &id).unwrap_err().code, ErrorCode::Unimplemented);
    }
    assert_eq!(reclaim(&world, "nobody").unwrap_err().code, ErrorCode::NotFound);
}
