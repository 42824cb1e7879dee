//! The register's growth: rule `checkpoint`, and which rows each size keeps good.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{Checkpoint, GroupFile, RegisterHead, Row, Rule, consistency, root};
use common::{CHECKPOINT, MACHINES, Nodes, World, XR, row_of, tree, worlds};

const REGISTER: usize = 6;

fn refused(file: &[u8]) -> (usize, Rule) {
    let error = GroupFile::from_bytes(file).unwrap_err();
    (error.part, error.rule)
}

fn checkpoint(nodes: &Nodes, before: Option<u32>, machines: u32) -> Checkpoint {
    let node = |level, index| nodes.get(&(level, index)).copied();
    Checkpoint {
        machines,
        root: root(machines, node).unwrap(),
        hashes: before.map_or(vec![], |before| {
            consistency(before, machines, node).unwrap()
        }),
    }
}

/// The file with checkpoints of these sizes, each with its proof.
fn with_sizes(world: &World, sizes: &[u32]) -> Vec<u8> {
    let nodes = &world.nodes;
    let node = |level, index| nodes.get(&(level, index)).copied();
    world.with_register(|checkpoints, head| {
        let before = [None].into_iter().chain(sizes.iter().copied().map(Some));
        let pairs = before.zip(sizes);
        *checkpoints = pairs
            .map(|(before, size)| checkpoint(nodes, before, *size))
            .collect();
        let last = sizes
            .last()
            .map(|last| consistency(*last, head.machines, node).unwrap());
        head.hashes = last.unwrap_or_default();
    })
}

#[test]
fn checkpoints_keep_rows_good() {
    for world in worlds() {
        for sizes in [&[][..], &[5], &[1], &[2, 3], &[1, 2, 3, 4, 5]] {
            let group = GroupFile::from_bytes(&with_sizes(world, sizes)).unwrap();
            for machines in 1..=MACHINES as u32 {
                let row = world.row_at(0, machines);
                let kept = machines == MACHINES as u32 || sizes.contains(&machines);
                assert_eq!(
                    row.is_in_register_of(&group),
                    kept,
                    "{machines} of {sizes:?}"
                );
            }
            assert_eq!(group.register_root(0), None);
        }
    }
}

#[test]
fn an_empty_register_has_no_checkpoint() {
    let empty = |checkpoints: &mut Vec<Checkpoint>, head: &mut RegisterHead| {
        checkpoints.clear();
        (head.machines, head.root, head.hashes) = (0, [0; 32], vec![]);
    };
    let group = GroupFile::from_bytes(&XR.with_register(empty)).unwrap();
    assert!(!XR.row(0).is_in_register_of(&group));
    let before = XR.with_register(|_, head| (head.machines, head.hashes) = (0, vec![]));
    assert_eq!(refused(&before), (REGISTER, Rule::Checkpoint));
}

#[test]
fn sizes_increase() {
    let nodes = &XR.nodes;
    for sizes in [[2, 2], [3, 2]] {
        let file = XR.with_register(|checkpoints, _| {
            *checkpoints = sizes.map(|size| checkpoint(nodes, None, size)).to_vec();
        });
        assert_eq!(refused(&file), (6, Rule::Checkpoint));
    }
    let larger = XR.with_register(|_, head| {
        head.machines = 1;
        head.hashes = vec![];
    });
    assert_eq!(refused(&larger), (REGISTER, Rule::Checkpoint));
}

#[test]
fn proofs_lead_from_size_to_size() {
    let changes: [fn(&mut Vec<Checkpoint>, &mut RegisterHead); 5] = [
        |_, head| head.hashes[0][0] ^= 1,
        |_, head| head.hashes.truncate(1),
        |_, head| head.hashes.push([0; 32]),
        |_, head| head.root[0] ^= 1,
        |checkpoints, _| checkpoints[0].root[0] ^= 1,
    ];
    for change in changes {
        assert_eq!(
            refused(&XR.with_register(change)),
            (REGISTER, Rule::Checkpoint)
        );
    }
    let between = XR.with_register(|checkpoints, _| {
        let mut second = checkpoint(&XR.nodes, Some(CHECKPOINT), 3);
        second.hashes[0][0] ^= 1;
        checkpoints.push(second);
    });
    assert_eq!(refused(&between), (6, Rule::Checkpoint));
}

#[test]
fn what_has_nothing_before_it_has_no_proof() {
    let first = XR.with_register(|checkpoints, _| checkpoints[0].hashes.push([0; 32]));
    assert_eq!(refused(&first), (5, Rule::Checkpoint));
    let head = XR.with_register(|checkpoints, _| checkpoints.clear());
    assert_eq!(refused(&head), (5, Rule::Checkpoint));
    let same_size = |change: fn(&mut RegisterHead)| {
        XR.with_register(|checkpoints, head| {
            *checkpoints = vec![checkpoint(&XR.nodes, None, head.machines)];
            head.hashes.clear();
            change(head);
        })
    };
    assert!(GroupFile::from_bytes(&same_size(|_| ())).is_ok());
    let other_root = same_size(|head| head.root[0] ^= 1);
    assert_eq!(refused(&other_root), (REGISTER, Rule::Checkpoint));
    let proof = same_size(|head| head.hashes.push([0; 32]));
    assert_eq!(refused(&proof), (REGISTER, Rule::Checkpoint));
}

#[test]
fn layout() {
    let none = XR.with_register(|checkpoints, _| checkpoints[0].machines = 0);
    assert_eq!(refused(&none), (5, Rule::Layout));
    let long = XR.with_register(|checkpoints, _| checkpoints[0].hashes = vec![[0; 32]; 65]);
    assert_eq!(refused(&long), (5, Rule::Layout));
    let long = XR.with_register(|_, head| head.hashes = vec![[0; 32]; 65]);
    assert_eq!(refused(&long), (REGISTER, Rule::Layout));
    let most = XR.with_register(|_, head| head.hashes = vec![[0; 32]; 64]);
    assert_eq!(refused(&most), (REGISTER, Rule::Checkpoint));
}

/// A copy of the store that enrols a machine under the name of an honest one.
fn forked(world: &World) -> (Vec<clew_evidence::RegisterEntry>, Nodes) {
    let mut entries = world.entries[..1].to_vec();
    let mut twin = world.issuer.entry(8, world.group.id());
    (twin.index, twin.name) = (1, world.entries[0].name.clone());
    common::issuer::vouch(&mut twin, world.group.id(), 8);
    entries.push(twin);
    let nodes = tree(&entries);
    (entries, nodes)
}

#[test]
fn rows_of_a_forked_register_do_not_count() {
    for world in worlds() {
        let (entries, nodes) = forked(world);
        let row = row_of(&entries, &nodes, 1, 2);
        assert!(
            !row.is_in_register_of(&world.group),
            "of a size that there is"
        );
        let claimed = Row { machines: 5, ..row };
        assert!(!claimed.is_in_register_of(&world.group));
        // Nor can the file take it up as a checkpoint.
        let file = world.with_register(|checkpoints, _| {
            *checkpoints = vec![checkpoint(&nodes, None, 2)];
        });
        assert_eq!(refused(&file), (REGISTER, Rule::Checkpoint));
    }
}
