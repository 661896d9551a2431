package store

import (
	"context"
	"errors"
	"time"

	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What an organization owns is counted in items of its own, one for each kind, so that a transaction's refusal says of what
// there is too much. Attributes: n how many; u when keys were counted anew, in milliseconds.
func identitiesOwned(organization task.ID) dirItem { return ownedKey(organization, "identities") }
func handlesOwned(organization task.ID) dirItem    { return ownedKey(organization, "handles") }
func keysOwned(organization task.ID) dirItem       { return ownedKey(organization, "keys") }

func ownedKey(organization task.ID, kind string) dirItem {
	return dirKey(organizationMark+organization.String(), ownedMark+kind)
}

// pendingOwned is apart from those: whoever asks for connections may write no organization's partition.
func pendingOwned(organization task.ID) dirItem {
	return dirKey(countMark+organization.String(), "pending")
}

// oneMore counts one more thing that an organization owns, under the condition that it has fewer than most.
func (d *Directory) oneMore(counted dirItem, most int) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &d.table, Key: counted, UpdateExpression: aws.String("add n :n set " + attrSchema + " = :schema"),
		ConditionExpression:       aws.String("attribute_not_exists(n) or n < :most"),
		ExpressionAttributeValues: dirItem{":schema": number(schema), ":n": dirNumber(1), ":most": dirNumber(int64(most))},
	}}
}

// oneLess counts one less.
func (d *Directory) oneLess(counted dirItem) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &d.table, Key: counted, UpdateExpression: aws.String("add n :n set " + attrSchema + " = :schema"),
		ExpressionAttributeValues: dirItem{":schema": number(schema), ":n": dirNumber(-1)},
	}}
}

// recountEvery is how often the keys of an organization that stands at its limit are counted anew, at most: it takes a read
// unit for some 25 keys that it ever had.
const recountEvery = time.Minute

// recountKeys takes those keys from an organization's count that expired, which is no write that could count. again says
// that there may be room now. A count that changes meanwhile stands.
func (d *Directory) recountKeys(ctx context.Context, organization task.ID, at time.Time) (again bool, err error) {
	counted, err := d.get(ctx, keysOwned(organization))
	if err != nil {
		return false, err
	}
	if at.Sub(dirTime(dirNumberOf(counted["u"]))) < recountEvery {
		return false, nil
	}
	good := int64(0)
	err = d.eachOf(ctx, organizationMark+organization.String(), keyMark, func(it dirItem) error {
		if works(it, at) {
			good++
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	_, err = d.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: keysOwned(organization),
		UpdateExpression:    aws.String("set n = :n, u = :now, " + attrSchema + " = :schema"),
		ConditionExpression: aws.String("n = :was"),
		ExpressionAttributeValues: dirItem{
			":schema": number(schema), ":n": dirNumber(good), ":was": counted["n"], ":now": dirNumber(at.UnixMilli()),
		},
	})
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return true, nil
	}
	if err != nil {
		return false, sdkError(err, "count keys of %s", organization)
	}
	return good < dirNumberOf(counted["n"]), nil
}

// works says of a listed key whether it is counted: it is neither revoked nor expired.
func works(listed dirItem, at time.Time) bool {
	if dirNumberOf(listed["r"]) != 0 {
		return false
	}
	gone := dirNumberOf(listed[attrExpires])
	return gone == 0 || at.Before(time.Unix(gone, 0).Add(-keyKept))
}

var ownedKinds = []func(organization task.ID) dirItem{identitiesOwned, handlesOwned, keysOwned, pendingOwned}
