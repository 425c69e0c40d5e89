"""Calls every operation that the cloud twin serves, and prints what is wrong with each answer.

Usage: python drive.py <JSON: endpoint, region, account, cluster, queue, role, subnets, imageParameter>
Prints one JSON object: `problems` by service and operation, and `refusals` by name.
"""

import json
import sys
from datetime import datetime, timezone

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from answers import answer_problems

given = json.loads(sys.argv[1])
problems = {}
refusals = {}


def watch(client, service):
    """Notes the problems of every answer of a client that is no error."""
    protocol = client.meta.service_model.resolved_protocol

    def seen(http_response, model, **_):
        found = problems.setdefault(f"{service}:{model.name}", [])
        if http_response.status_code < 300:
            # Twenty are enough to see what is wrong.
            found += answer_problems(model, protocol, http_response.content)[: 20 - len(found)]

    client.meta.events.register("after-call", seen)
    return client


def connect(service, **credentials):
    keys = credentials or {"aws_access_key_id": "AKIDADMIN", "aws_secret_access_key": "secret"}
    client = boto3.client(
        service,
        endpoint_url=given["endpoint"],
        region_name=given["region"],
        config=Config(retries={"total_max_attempts": 1}),
        **keys,
    )
    return watch(client, service)


def refused(name, call, /, **params):
    """Notes the code with which a call is refused."""
    try:
        call(**params)
        refusals[name] = "none"
    except ClientError as error:
        refusals[name] = error.response["Error"]["Code"]


def tags(kind, **values):
    pairs = [{"Key": key, "Value": value} for key, value in values.items()]
    return {"ResourceType": kind, "Tags": pairs}


def drive_catalog(ec2):
    prices = {"StartTime": datetime.now(timezone.utc), "InstanceTypes": ["m5.large", "c5.large"]}
    for operation, query in (
        ("describe_instance_types", {}),
        ("describe_instance_type_offerings", {}),
        ("describe_spot_price_history", prices),
    ):
        for _ in ec2.get_paginator(operation).paginate(**query):
            pass
    ec2.describe_spot_price_history()
    ec2.describe_instance_type_offerings(LocationType="availability-zone")
    ec2.describe_availability_zones()
    ec2.describe_availability_zones(Filters=[{"Name": "state", "Values": ["available"]}])
    ec2.describe_subnets()
    ec2.describe_security_groups()
    ec2.describe_images(Owners=["amazon"])
    refused("no such zone", ec2.describe_availability_zones, ZoneNames=["nowhere"])
    refused("no such subnet", ec2.describe_subnets, SubnetIds=["subnet-0123456789abcdef0"])


def drive_templates(ec2, image):
    data = {
        "ImageId": image,
        "UserData": "IyEvYmluL3NoCg==",
        "IamInstanceProfile": {"Name": f"KarpenterNodeInstanceProfile-{given['cluster']}"},
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 30, "VolumeType": "gp3"}}
        ],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "Monitoring": {"Enabled": True},
        "Placement": {"Tenancy": "dedicated"},
        "EnclaveOptions": {"Enabled": False},
        "CapacityReservationSpecification": {"CapacityReservationPreference": "none"},
        "TagSpecifications": [tags("volume", team="a")],
    }
    ec2.create_launch_template(
        LaunchTemplateName="nodes",
        LaunchTemplateData=data,
        TagSpecifications=[tags("launch-template", team="a")],
    )
    for _ in range(2):
        ec2.create_launch_template_version(LaunchTemplateName="nodes", LaunchTemplateData=data)
    ec2.describe_launch_templates(LaunchTemplateNames=["nodes"])
    ec2.describe_launch_template_versions(LaunchTemplateName="nodes", Versions=["1", "2"])
    ec2.delete_launch_template_versions(LaunchTemplateName="nodes", Versions=["2", "9"])
    refused(
        "template exists",
        ec2.create_launch_template,
        LaunchTemplateName="nodes",
        LaunchTemplateData=data,
    )


def launch(ec2, capacity_type, **more):
    answer = ec2.create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[
            {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateName": "nodes",
                    "Version": "$Latest",
                },
                "Overrides": [
                    {"InstanceType": "m5.large", "SubnetId": subnet}
                    for subnet in given["subnets"]
                ],
            }
        ],
        TargetCapacitySpecification={
            "TotalTargetCapacity": 1,
            "DefaultTargetCapacityType": capacity_type,
        },
        TagSpecifications=[tags("instance", team="a"), tags("fleet", team="a")],
        **more,
    )
    return answer["FleetId"], [one for made in answer["Instances"] for one in made["InstanceIds"]]


def drive_instances(ec2):
    fleet, (first,) = launch(ec2, "on-demand")
    _, (spot,) = launch(
        ec2, "spot", SpotOptions={"AllocationStrategy": "price-capacity-optimized"}
    )
    ec2.describe_fleets(FleetIds=[fleet])
    ec2.get_waiter("instance_running").wait(
        InstanceIds=[first, spot], WaiterConfig={"Delay": 1, "MaxAttempts": 20}
    )
    ec2.describe_instances(Filters=[{"Name": "tag:team", "Values": ["a"]}])
    ec2.describe_instance_status(IncludeAllInstances=True)
    volumes = ec2.describe_volumes(
        Filters=[{"Name": "attachment.instance-id", "Values": [first, spot]}]
    )["Volumes"]
    things = [first, volumes[0]["VolumeId"], given["subnets"][0]]
    ec2.create_tags(Resources=things, Tags=[{"Key": "owner", "Value": "b"}])
    ec2.delete_tags(Resources=things, Tags=[{"Key": "owner"}])
    refused(
        "dry run",
        ec2.run_instances,
        DryRun=True,
        MinCount=1,
        MaxCount=1,
        InstanceType="m5.large",
        SubnetId=given["subnets"][0],
        LaunchTemplate={"LaunchTemplateName": "nodes", "Version": "$Latest"},
    )
    refused("Spot is not stopped", ec2.stop_instances, InstanceIds=[spot])
    ec2.stop_instances(InstanceIds=[first])
    ec2.terminate_instances(InstanceIds=[first, spot])
    ec2.describe_instances(InstanceIds=[first])
    _, (kept,) = launch(ec2, "on-demand")
    ec2.delete_launch_template(LaunchTemplateName="nodes")
    refused("no such instance", ec2.terminate_instances, InstanceIds=["i-0123456789abcdef0"])
    refused("not served", ec2.describe_vpcs)
    return kept


def drive_denials(instance):
    """The calls of a key whose policy allows only reading."""
    reader = connect("ec2", aws_access_key_id="AKIDREADER", aws_secret_access_key="secret")
    reader.describe_volumes()
    reader.describe_availability_zones()
    refused("end, denied", reader.terminate_instances, InstanceIds=[instance])
    refused("stop, denied", reader.stop_instances, InstanceIds=[instance])
    refused("untag, denied", reader.delete_tags, Resources=[instance])


def drive_iam(iam):
    iam.get_role(RoleName=given["role"])
    name = {"InstanceProfileName": "nodes"}
    iam.create_instance_profile(**name, Tags=[{"Key": "team", "Value": "a"}])
    iam.add_role_to_instance_profile(**name, RoleName=given["role"])
    iam.tag_instance_profile(**name, Tags=[{"Key": "team", "Value": "b"}])
    iam.get_instance_profile(**name)
    iam.list_instance_profiles()
    refused("profile with a role", iam.delete_instance_profile, **name)
    iam.remove_role_from_instance_profile(**name, RoleName=given["role"])
    iam.delete_instance_profile(**name)
    refused("no such profile", iam.get_instance_profile, **name)


def drive_sqs(sqs):
    queue = {"QueueUrl": sqs.get_queue_url(QueueName=given["queue"])["QueueUrl"]}
    sqs.get_queue_attributes(**queue, AttributeNames=["All"])
    sqs.send_message(**queue, MessageBody='{"text": "ü & <b>"}')
    sqs.send_message(**queue, MessageBody="second")
    first, *others = sqs.receive_message(**queue, MaxNumberOfMessages=10)["Messages"]
    sqs.delete_message(**queue, ReceiptHandle=first["ReceiptHandle"])
    entries = [
        {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
        for index, message in enumerate(others)
    ]
    answer = sqs.delete_message_batch(
        **queue, Entries=[*entries, {"Id": "not-one", "ReceiptHandle": "none"}]
    )
    [failed] = answer["Failed"]
    assert failed["Id"] == "not-one" and len(answer["Successful"]) == len(entries), answer
    refused("no such queue", sqs.get_queue_url, QueueName="none")


def drive_sts(sts):
    sts.get_caller_identity()
    arn = f"arn:aws:iam::{given['account']}:role/{given['role']}"
    assumed = sts.assume_role(RoleArn=arn, RoleSessionName="a-session")
    keys = assumed["Credentials"]
    again = connect(
        "sts",
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    if again.get_caller_identity()["Arn"] != assumed["AssumedRoleUser"]["Arn"]:
        problems["sts:AssumeRole"].append("the credentials do not belong to the role")


def main():
    ec2, ssm = connect("ec2"), connect("ssm")
    image = ssm.get_parameter(Name=given["imageParameter"])["Parameter"]["Value"]
    refused("no such parameter", ssm.get_parameter, Name="/aws/service/none")
    drive_catalog(ec2)
    drive_templates(ec2, image)
    kept = drive_instances(ec2)
    drive_iam(connect("iam"))
    drive_sqs(connect("sqs"))
    drive_sts(connect("sts"))
    eks = connect("eks")
    eks.describe_cluster(name=given["cluster"])
    refused("no such cluster", eks.describe_cluster, name="none")
    connect("pricing").get_products(
        ServiceCode="AmazonEC2",
        MaxResults=10,
        Filters=[{"Type": "TERM_MATCH", "Field": "regionCode", "Value": given["region"]}],
    )
    drive_denials(kept)
    print(json.dumps({"problems": problems, "refusals": refusals}))


main()
